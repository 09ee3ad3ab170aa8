"""The decision on findings: by severity, level, baseline and acknowledgement."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import product

import pytest

from tests.gate.made import accepted, configuration, diagnosis, known, terms
from tests.support import finding, location
from xladoctor.diagnosis.finding import Finding, Ignored, NotChecked
from xladoctor.diagnosis.identity import digest
from xladoctor.diagnosis.interface import RuleOutcomes, Steps
from xladoctor.gate.baseline import BaselineEntry
from xladoctor.gate.interface import GateError, Missing
from xladoctor.gate.judge import Terms, entries, judge

SEVERITIES = ("info", "warning", "error")


def state(defect: Finding, by: Terms) -> tuple[str, str, str]:
    """Of the gate, and of its only finding, with the reason."""
    outcome = judge(diagnosis(defect), by)
    (judgement,) = outcome.judgements
    assert judgement.fails == (outcome.status == "failed")
    assert (judgement.fingerprint, judgement.rule) == (defect.fingerprint, defect.rule)
    return outcome.status, judgement.state, judgement.reason


# Severity and level


@pytest.mark.parametrize(
    ("severity", "fail_on"), list(product(SEVERITIES, ("info", "warning", "error", "never")))
)
def test_finding_fails_from_the_severity_that_was_asked_for(severity: str, fail_on: str) -> None:
    defect = finding(severity_by_counts=severity, severity="error")  # not by its time
    status, made, reason = state(defect, terms(configuration({"fail_on": fail_on})))
    if (*SEVERITIES, "never").index(fail_on) <= SEVERITIES.index(severity):
        assert (status, made, reason) == ("failed", "new", severity)
    else:
        below = "nothing fails" if fail_on == "never" else f"{severity}, below {fail_on}"
        assert (status, made, reason) == ("passed", "tolerated", below)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_rule_that_goes_by_time_counts_as_its_time_says(severity: str) -> None:
    defect = finding("XD501", severity=severity, severity_by_counts="info")
    status, *_ = state(defect, terms(configuration({"time": True, "fail_on": "warning"})))
    assert status == ("passed" if severity == "info" else "failed")


@pytest.mark.parametrize(
    ("levels", "time", "made"),
    [
        ({}, False, "not_judged"),
        ({}, True, "new"),
        ({"XD501": "error"}, False, "new"),
        ({"XD5": "error"}, False, "new"),
        ({"XD5": "error", "XD501": "warning"}, False, "not_judged"),
        ({"XD501": "warning"}, True, "tolerated"),
    ],
    ids=str,
)
def test_rule_that_goes_by_time_is_judged_where_it_was_asked_for(
    levels: dict[str, str], time: bool, made: str
) -> None:
    by = terms(configuration({"time": time}, levels=levels))
    assert state(finding("XD501", severity="error"), by)[1] == made


@pytest.mark.parametrize(
    ("levels", "severity", "fail_on", "expected"),
    [
        ({"XD201": "error"}, "info", "never", ("failed", "new", "info; its level is error")),
        ({"XD": "error"}, "info", "error", ("failed", "new", "info; its level is error")),
        ({"XD201": "warning"}, "error", "info", ("passed", "tolerated", "its level is warning")),
        (
            {"XD2": "warning", "XD201": "error"},
            "info",
            "error",
            ("failed", "new", "info; its level is error"),
        ),
        (
            {"XD2": "error", "XD201": "warning"},
            "error",
            "info",
            ("passed", "tolerated", "its level is warning"),
        ),
        ({"XD3": "warning"}, "error", "error", ("failed", "new", "error")),
    ],
    ids=str,
)
def test_level_of_the_longest_name_goes_before_the_severity(
    levels: dict[str, str], severity: str, fail_on: str, expected: tuple[str, str, str]
) -> None:
    by = terms(configuration({"fail_on": fail_on}, levels=levels))
    assert state(finding(severity_by_counts=severity), by) == expected


# Baseline


@pytest.mark.parametrize(
    ("entry", "made", "reason"),
    [
        ({}, "known", "in the baseline"),
        ({"fingerprint": "other", "function": "evaluate"}, "new", "not in the baseline"),
        ({"fingerprint": "other", "file": "src/train.py"}, "new", "not in the baseline"),
        ({"fingerprint": "other", "rule": "XD202"}, "new", "not in the baseline"),
        ({"severity": "error"}, "known", "in the baseline"),
        ({"severity": "info"}, "worse", "warning, in the baseline info"),
        ({"count": 41}, "known", "in the baseline, there 41 times"),
        ({"count": 39}, "worse", "40 times, in the baseline 39 times"),
        ({"count": 1}, "worse", "40 times, in the baseline once"),
    ],
    ids=str,
)
def test_only_what_is_new_or_worse_fails(entry: dict[str, object], made: str, reason: str) -> None:
    expected = ("passed" if made == "known" else "failed", made, reason)
    assert state(finding(), terms(None, known(**entry))) == expected  # type: ignore[arg-type]


EDITED = known(digest("XD201", "", "train.py", "train", "loss.item()"))
MOVED = known(
    digest("XD201", "", "old.py", "train", "loss.mean().item()"),
    file="old.py",
    code="loss.mean().item()",
)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [(EDITED, "in the baseline as loss.item()"), (MOVED, "in the baseline as old.py")],
    ids=["line edited", "file renamed"],
)
def test_what_is_known_by_another_fingerprint_keeps_it(entry: BaselineEntry, reason: str) -> None:
    now = finding(locations=[location(source="loss.mean().item()")])
    outcome = judge(diagnosis(now), terms(None, entry))
    (judgement,) = outcome.judgements
    assert (outcome.status, outcome.gone) == ("passed", [])
    assert (judgement.state, judgement.reason) == ("known", reason)
    assert (judgement.fingerprint, judgement.known_as) == ("XD201-0", entry.fingerprint)
    less = entry.model_copy(update={"count": 39})
    (judgement,) = judge(diagnosis(now), terms(None, less)).judgements
    assert (judgement.state, judgement.known_as) == ("worse", entry.fingerprint)


@pytest.mark.parametrize(
    ("expires", "made"), [("2030-01-01", "acknowledged"), ("2026-05-03", "worse")]
)
def test_what_is_known_by_another_fingerprint_stays_acknowledged(expires: str, made: str) -> None:
    now = finding(severity_by_counts="error", locations=[location(source="loss.mean().item()")])
    hand = accepted(findings={EDITED.fingerprint: {"reason": "logged", "expires": expires}})
    outcome = judge(diagnosis(now), terms(None, EDITED, acknowledged=hand))
    assert outcome.judgements[0].state == made
    assert len(outcome.notes) == (made == "worse")


def test_fingerprint_that_another_finding_has_by_now_is_not_kept() -> None:
    name = EDITED.fingerprint
    added = finding(fingerprint=name, count=80, per_step=2.0)
    outcome = judge(diagnosis(added, finding(fingerprint=f"{name}-2")), terms(None, EDITED))
    assert [(judgement.state, judgement.known_as) for judgement in outcome.judgements] == [
        ("new", None),
        ("known", None),
    ]


def test_lines_that_could_be_any_of_several_are_new() -> None:
    made = [finding(fingerprint=name) for name in ("one", "other")]
    outcome = judge(diagnosis(*made), terms(None, known()))
    assert [judgement.state for judgement in outcome.judgements] == ["new", "new"]
    several = terms(None, known("one"), known("other"))
    assert judge(diagnosis(finding(fingerprint="edited")), several).status == "failed"


def test_entry_of_a_finding_that_is_suppressed_is_not_of_another_line() -> None:
    hushed = Ignored("XD201", "train.py", 41, "", known().fingerprint)
    diagnosed = diagnosis(finding(fingerprint="other"), ignored=[hushed])
    assert judge(diagnosed, terms(None, known())).status == "failed"


@pytest.mark.parametrize(("rule", "made"), [("XD101", "known"), ("XD201", "worse")])
def test_recompilations_that_may_be_over_are_not_more_in_a_shorter_run(
    rule: str, made: str
) -> None:
    by = terms(None, known(rule=rule, count=40, per_step=0.4), steps=100)
    assert state(finding(rule, fingerprint=known().fingerprint), by)[1] == made


@pytest.mark.parametrize(
    ("per_step", "made"), [(1.0, "known"), (0.95, "known"), (0.85, "worse"), (None, "known")]
)
def test_runs_of_other_length_are_compared_a_step(per_step: float | None, made: str) -> None:
    by = terms(None, known(count=20, per_step=per_step), steps=20)
    assert state(finding(), by)[1] == made


@pytest.mark.parametrize(
    ("count", "steps", "made"),
    [(20, 20, "known"), (39, 400, "worse"), (41, 400, "known"), (10, 20, "worse")],
)
def test_what_has_no_rate_is_worse_only_if_count_and_rate_rose(
    count: int, steps: int, made: str
) -> None:
    by = terms(None, known(count=count, per_step=None), steps=steps)
    assert state(finding(per_step=None), by)[1] == made


def test_what_was_there_is_said_without_steps_that_are_not_known() -> None:
    by = terms(None, known(count=2, per_step=None), steps=None)
    assert state(finding(), by)[2] == "40 times, in the baseline 2 times"


def test_suppressed_finding_is_not_gone() -> None:
    hushed = Ignored("XD201", "train.py", 41, "", known().fingerprint)
    assert judge(diagnosis(ignored=[hushed]), terms(None, known())).gone == []


def test_what_was_there_is_said_with_the_steps_of_that_run() -> None:
    by = terms(None, known(count=2, per_step=0.1), steps=20)
    assert state(finding(), by)[2] == "40 times, in the baseline 2 times in 20 steps"


def test_entries_that_occur_no_more_are_reported_and_fail_nothing() -> None:
    by = terms(None, known(), known("gone", rule="XD101"), known("unknown", rule="XD401"))
    outcome = judge(diagnosis(finding()), by)
    assert outcome.status == "passed"
    assert [(gone.fingerprint, gone.certain) for gone in outcome.gone] == [
        ("gone", True),
        ("unknown", False),
    ]


def test_new_baseline_keeps_what_would_fail_and_is_not_accepted_by_hand() -> None:
    diagnosed = diagnosis(
        finding(fingerprint="a"),
        finding(fingerprint="b", severity_by_counts="info"),
        finding(fingerprint="c"),
        finding("XD501", fingerprint="d", severity="error"),
        finding("XD101", fingerprint="e", severity_by_counts="error"),
    )
    hand = accepted(findings={"c": {"reason": "logged", "expires": "2026-05-04"}})
    made = entries(diagnosed, terms(None, known("a"), acknowledged=hand))
    assert [(judgement.fingerprint, judgement.severity) for judgement in made] == [
        ("a", "warning"),
        ("e", "error"),
    ]


# Acknowledged by hand


@pytest.mark.parametrize(
    ("expires", "made"),
    [("2026-05-03", "new"), ("2026-05-04", "acknowledged"), ("2030-01-01", "acknowledged")],
)
def test_acknowledgement_holds_to_the_end_of_its_last_day(expires: str, made: str) -> None:
    hand = accepted(findings={"XD201-0": {"reason": "logged", "expires": expires}})
    outcome = judge(diagnosis(finding()), terms(acknowledged=hand))
    (judgement,) = outcome.judgements
    assert judgement.state == made
    if made == "new":
        assert outcome.status == "failed"
        assert outcome.notes == ["the acknowledgement of XD201-0 expired on 2026-05-03: logged"]
    else:
        assert (outcome.status, outcome.notes) == ("passed", [])
        assert judgement.reason == f"logged; until {date.fromisoformat(expires)}"


def test_expired_acknowledgement_of_what_is_in_the_baseline_fails_nothing() -> None:
    hand = accepted(findings={"XD201-0": {"reason": "logged", "expires": "2026-05-03"}})
    outcome = judge(diagnosis(finding()), terms(None, known(), acknowledged=hand))
    assert (outcome.status, outcome.judgements[0].state) == ("passed", "known")


def test_acknowledgement_that_matches_nothing_is_noted_if_there_is_no_other_program() -> None:
    lines = {name: {"reason": "logged", "expires": "2030-01-01"} for name in ("XD201-0", "gone")}
    by = terms(acknowledged=accepted(findings=lines))
    assert judge(diagnosis(finding()), by).notes == []
    assert judge(diagnosis(finding()), replace(by, alone=True)).notes == [
        "acknowledged, but not found: gone; fixed, or of another program"
    ]


# What could not be judged


@pytest.mark.parametrize(
    ("rule", "gate", "levels", "asked"),
    [
        ("XD401", {}, {}, True),
        ("XD401", {}, {"XD401": "warning"}, False),  # which cannot fail
        ("XD501", {}, {}, False),
        ("XD501", {"time": True}, {}, True),
        ("XD501", {}, {"XD501": "error"}, True),
    ],
    ids=str,
)
def test_rule_that_was_asked_for_and_not_evaluated_is_missing(
    rule: str, gate: dict[str, object], levels: dict[str, str], asked: bool
) -> None:
    diagnosed = diagnosis(not_checked=[NotChecked(rule, "no counters")])
    outcome = judge(diagnosed, terms(configuration(gate, levels=levels)))
    assert outcome.missing == [Missing(rule, "no counters")] * asked
    assert outcome.status == ("missing" if asked else "passed")
    allowed = judge(diagnosed, terms(configuration({**gate, "allow_missing": True}, levels=levels)))
    assert (allowed.status, allowed.missing) == ("passed", outcome.missing)


def test_failure_counts_more_than_what_is_missing() -> None:
    diagnosed = diagnosis(finding(), not_checked=[NotChecked("XD401", "no counters")])
    assert judge(diagnosed, terms()).status == "failed"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_loop_that_was_seen_in_its_warm_up_only_does_not_pass(count: int) -> None:
    outcome = judge(diagnosis(steps=Steps(count, count, None)), terms())
    assert outcome.status == "missing"
    (missing,) = outcome.missing
    assert missing.name == "steps"
    assert missing.reason.startswith(f"only {count} step")


@pytest.mark.parametrize(("count", "status"), [(4, "missing"), (5, "passed")])
def test_two_steps_after_warm_up_are_enough(count: int, status: str) -> None:
    assert judge(diagnosis(steps=Steps(count, 3, 1.0)), terms()).status == status


def test_program_without_anything_that_comes_again_is_not_in_order() -> None:
    by = terms(None, known("elsewhere", rule="XD101"))
    outcome = judge(diagnosis(steps=None), by)
    assert [missing.name for missing in outcome.missing] == ["steps"]
    assert not outcome.gone[0].certain


def test_program_of_a_frontend_without_barriers_is_told_of_none() -> None:
    outcome = judge(diagnosis(steps=None, run={"frontend": "jax"}), terms(None))
    (missing,) = outcome.missing
    assert missing.reason.startswith("no compiled function that is called again and again, and")


def test_loop_without_barriers_is_known_by_what_was_found_in_it() -> None:
    fine = terms(configuration({"fail_on": "never"}))
    assert judge(diagnosis(finding(), steps=None), fine).missing == []
    suppressed = [Ignored("XD201", "train.py", 41, "")]
    assert judge(diagnosis(steps=None, ignored=suppressed), fine).missing == []
    setting = finding("XD701")
    assert judge(diagnosis(setting, steps=None), fine).status == "missing"


def test_what_the_capture_lost_is_missing_whatever_rules_are_on() -> None:
    lost = ["process-42: the process was cut short"]
    diagnosed = diagnosis(run={"incomplete": lost}, rules=RuleOutcomes([], ["XD201"], []))
    outcome = judge(diagnosed, terms(None, known("elsewhere")))
    assert outcome.status == "missing"
    assert outcome.missing == [Missing("capture", lost[0])]
    assert not outcome.gone[0].certain


@pytest.mark.parametrize("clear", [[], ["XD501"], ["XD501", "XD903"]], ids=str)
def test_gate_of_which_nothing_can_fail_is_refused(clear: list[str]) -> None:
    nothing = diagnosis(rules=RuleOutcomes([], clear, [], ["XD201"]))
    with pytest.raises(GateError, match="nothing to judge"):
        judge(nothing, terms())
    budget = configuration({"budgets": {"max_step_ms": 5}})
    assert judge(nothing, terms(budget)).status == "passed"
    if clear:
        assert judge(nothing, terms(configuration({"time": True}))).status == "passed"


def test_budgets_for_other_programs_are_mentioned() -> None:
    typo = configuration({"scripts": {"trian.py": {"max_step_ms": 5}}})
    outcome = judge(diagnosis(), terms(typo))
    assert outcome.notes == ["the budgets for trian.py do not apply to this program"]
    right = configuration({"scripts": {"trian.py": {}, "train.py": {}}})
    assert judge(diagnosis(), terms(right)).notes == []


def test_outcome_names_program_threshold_and_files() -> None:
    outcome = judge(diagnosis(), terms(configuration({"fail_on": "error"}), known("gone")))
    assert (outcome.script, outcome.fail_on) == ("src/train.py", "error")
    assert outcome.baseline == ".xladoctor/baseline.json"
    assert judge(diagnosis(), terms()).baseline is None
    assert replace(outcome, gone=[]).acknowledged == ".xladoctor/acknowledged.toml"
