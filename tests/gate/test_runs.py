"""Several runs as one: counts by majority and median, nothing unknown passes for known."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gate.made import COUNTS, counted, diagnosis
from tests.support import finding, location
from xladoctor.diagnosis.finding import NotChecked
from xladoctor.diagnosis.interface import Consumer, Count, Diagnosis, RuleOutcomes
from xladoctor.gate.interface import Repeated
from xladoctor.gate.runs import aggregate, repeated


def run(step_ms: float | None, *fingerprints: str, **changes: Any) -> Diagnosis:
    findings = [
        finding(fingerprint=name, locations=[location(line=len(name))]) for name in fingerprints
    ]
    return diagnosis(*findings, **{"counts": counted(step_ms=step_ms), **changes})


def value(diagnosed: Diagnosis, name: str) -> Count:
    (count,) = [count for count in diagnosed.counts if count.name == name]
    return count


def test_all_values_are_kept_with_their_median() -> None:
    rows = repeated([run(3.0), run(None), run(1.0)])
    assert len(rows) == len(COUNTS)
    assert [row for row in rows if row.name == "step_ms"] == [
        Repeated("step_ms", [3.0, None, 1.0], 2.0)
    ]


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([3.0, 1.0, 2.0], 2.0),
        ([1.0, 9.0], 5.0),
        ([1.0, 1.0, 50.0], 1.0),
        ([4.0, None, 2.0], 3.0),
        ([1.0, None], None),
        ([0.0, None, None], None),
        ([None, None, None], None),
    ],
    ids=str,
)
def test_count_is_the_median_and_unknown_where_half_of_the_runs_do_not_know(
    values: list[float | None], median: float | None
) -> None:
    count = value(aggregate([run(ms) for ms in values]), "step_ms")
    assert count.value == median
    assert count.reason == (None if median is not None else "no step_ms")


def test_lines_are_those_of_a_run_that_has_the_median() -> None:
    def reads(*values: float) -> list[Diagnosis]:
        consumers = {each: [Consumer(location(line=int(each)), each, 1, "item")] for each in values}
        return [
            run(
                step,
                counts=counted(
                    step_ms=step,
                    host_syncs_per_step=Count("host_syncs_per_step", each, None, consumers[each]),
                ),
            )
            for step, each in enumerate(values)
        ]

    # by step time the first, of which nothing is said, would lie in the middle
    count = value(aggregate(reads(9.0, 0.0, 5.0)), "host_syncs_per_step")
    assert (count.value, [consumer.value for consumer in count.consumers]) == (5.0, [5.0])
    count = value(aggregate(reads(0.0, 4.0)), "host_syncs_per_step")
    assert (count.value, [consumer.value for consumer in count.consumers]) == (2.0, [4.0])


def test_count_of_which_one_run_knows_a_part_is_a_part() -> None:
    part = Count("peak_memory", 5.0, "of 1 graph it is not known")
    combined = aggregate([run(1.0, counts=counted(peak_memory=peak)) for peak in (part, 5.0, 5.0)])
    assert value(combined, "peak_memory").reason == "of 1 graph it is not known"


def test_findings_are_those_of_more_than_half_of_the_runs() -> None:
    combined = aggregate([run(1.0, "all", "two"), run(2.0, "all"), run(3.0, "all", "two", "once")])
    assert [finding.fingerprint for finding in combined.findings] == ["all", "two"]
    assert combined.rules.fired == ["XD201"]
    assert "XD201 at train.py:4 in only 1 of 3 runs: not counted" in combined.warnings


def test_finding_of_half_of_the_runs_is_not_counted_and_its_rule_is_clear() -> None:
    combined = aggregate([run(1.0), run(2.0, "half")])
    assert (combined.findings, combined.rules.fired) == ([], [])
    assert "XD201" in combined.rules.clear
    assert "XD201 at train.py:4 in only 1 of 2 runs: not counted" in combined.warnings


def test_finding_without_a_line_is_one_of_the_run() -> None:
    once = diagnosis(finding(locations=[]))
    assert (
        "XD201 at the run in only 1 of 2 runs: not counted"
        in aggregate([once, diagnosis()]).warnings
    )


def test_finding_counts_as_often_as_in_the_middle_run() -> None:
    each = [
        diagnosis(
            finding(
                count=count,
                per_step=count / 40,
                severity_by_counts="error" if count > 50 else "warning",
            )
        )
        for count in (90, 40, 41)
    ]
    (combined,) = aggregate(each).findings
    assert (combined.count, combined.per_step, combined.severity_by_counts) == (
        41,
        1.025,
        "warning",
    )


def test_rule_that_half_of_the_runs_could_not_judge_is_not_judged() -> None:
    blind = {
        "rules": RuleOutcomes([], ["XD101"], ["XD401"]),
        "not_checked": [NotChecked("XD401", "no counters")],
    }
    seeing = {"rules": RuleOutcomes([], ["XD101", "XD401"], [])}
    combined = aggregate([run(2.0, **seeing), run(1.0, **blind), run(3.0, **blind)])
    assert combined.not_checked == [NotChecked("XD401", "no counters")]
    assert (combined.rules.not_evaluated, combined.rules.clear) == (["XD401"], ["XD101"])

    combined = aggregate([run(2.0, **blind), run(1.0, **seeing), run(3.0, **seeing)])
    assert (combined.not_checked, combined.rules.not_evaluated) == ([], [])
    assert combined.rules.clear == ["XD101", "XD401"]


def test_what_any_run_lost_or_said_is_not_lost() -> None:
    combined = aggregate(
        [
            run(1.0, warnings=["torn"], run={"incomplete": ["cut"]}),
            run(2.0),
            run(3.0, warnings=["torn", "odd"]),
        ]
    )
    assert combined.run.incomplete == ["cut"]
    assert combined.warnings[:2] == ["torn", "odd"]


def test_counts_that_differ_are_said_but_times_always_do() -> None:
    each = [
        run(step, counts=counted(step_ms=step, compilations_after_warmup=count))
        for step, count in ((1.0, 3.0), (2.0, None), (4.0, 3.0))
    ]
    assert aggregate(each).warnings == [
        "compilations_after_warmup differs between the runs: 3, unknown, 3"
    ]
    same = [run(1.0), run(2.0)]
    assert aggregate(same).warnings == []
