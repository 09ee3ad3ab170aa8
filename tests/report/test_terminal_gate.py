"""The gate's decision on a terminal."""

from __future__ import annotations

import io
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.gate.made import configuration, diagnosis, terms
from tests.report.formats import rendered as formatted
from tests.report.outcomes import FAILED, MISSING, PASSED
from tests.report.snapshots import assert_as_before
from tests.report.test_terminal import columns
from tests.support import finding, location
from xladoctor.diagnosis.finding import Cost, Finding, Saving
from xladoctor.diagnosis.interface import Consumer, Count, Verdict
from xladoctor.gate.judge import judge
from xladoctor.report.alerts import budget_text
from xladoctor.report.gate import headline, summary
from xladoctor.report.interface import Report, Style
from xladoctor.report.terminal import render
from xladoctor.report.words import amount

SNAPSHOTS = Path(__file__).parent / "gate_snapshots"
CASES = {
    f"{name}-{width}{'' if unicode else '-ascii'}": ([report], Style(width, unicode=unicode))
    for name, report in (("failed", FAILED), ("passed", PASSED), ("missing", MISSING))
    for width, unicode in ((50, True), (80, True), (80, False), (120, True))
} | {
    "failed-80-color": ([FAILED], Style(80, color=True)),
    "several-80": ([PASSED, MISSING], Style(80)),
}


def rendered(reports: list[Report], style: Style) -> str:
    output = io.StringIO()
    render(reports, output, style)
    return output.getvalue()


def outcome_of(report: Report) -> str:
    assert report.outcome is not None
    return rendered([report], Style(200))


@pytest.mark.parametrize("name", CASES)
def test_decision_is_as_it_was(name: str) -> None:
    text = rendered(*CASES[name])
    assert_as_before(SNAPSHOTS / f"{name}.txt", text)


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_lines_are_within_the_width_and_ascii_is_ascii(name: str) -> None:
    reports, style = CASES[name]
    text = rendered(reports, style)
    copied = ("  xladoctor gate", "expires=")  # whole, however long
    for line in text.splitlines():
        if any(part in line for part in copied):
            continue
        assert columns(line) <= style.width, line
    assert style.unicode or text.isascii()


def test_what_failed_comes_first_then_the_findings_and_last_what_to_do() -> None:
    text = outcome_of(FAILED)
    assert "    also train.py:41\n" in text
    said = (
        "Gate failed: 1 host reads a step, 0.1 allowed",
        "budget over",
        "The host waits.",
        "let pass  XD201",
        "to accept",
    )
    assert sorted(said, key=text.index) == list(said)
    assert "start-up" not in text


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["/opt/bin/python3", "train.py", "a b"], "-- python3 train.py 'a b'"),
        (["torchrun", "train.py"], "-- torchrun train.py"),
        (
            ["bash", "-eo", "pipefail", "-c", "python train.py --steps 20"],
            "-- python train.py --steps 20",
        ),
        (["bash", "-c", "cd a && python b.py"], "-- bash -c 'cd a && python b.py'"),
        ([], "a-run"),
    ],
)
def test_command_to_accept_in_ci_needs_no_run_directory(command: list[str], shown: str) -> None:
    run = replace(FAILED.diagnosis.run, path="a-run", command=command)
    report = Report(replace(FAILED.diagnosis, run=run), FAILED.outcome)
    assert f"xladoctor gate --update-baseline {shown}\n" in rendered(
        [report], Style(200, in_ci=True)
    )
    assert "xladoctor gate --update-baseline a-run\n" in rendered([report], Style(200))


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (PASSED, "Gate passed: nothing fails."),
        (MISSING, "Gate cannot judge: 2 not judged."),
    ],
)
def test_verdict(report: Report, said: str) -> None:
    assert said in outcome_of(report)
    assert ("--allow-missing" in outcome_of(report)) is (report is MISSING)


@pytest.mark.parametrize("value", [1.0, 2040544.0, 0.00003, 1 / 3, 13.456123])
def test_line_to_copy_accepts_what_there_is(value: float) -> None:
    outcome = FAILED.outcome
    assert outcome is not None
    over = replace(outcome.budgets[1], found=value)
    text = outcome_of(Report(FAILED.diagnosis, replace(outcome, budgets=[over])))
    (line,) = [row for row in text.splitlines() if row.strip().startswith(f"{over.name} =")]
    accepted = tomllib.loads(line.replace("YYYY-MM-DD", "2027-03-01"))[over.name]
    assert accepted["up_to"] >= value
    assert accepted["up_to"] == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("host_syncs_per_step", 0.00003, "3e-05 a step"),
        ("step_ms", 12.1, "12.1 ms"),
        ("step_ms", 1.08443, "1.084 ms"),
        ("step_ms", 123456.7, "123,500 ms"),
        ("peak_memory", 2.0**20, "1.049 MB"),
        ("compilations_after_warmup", 1717.0, "1,717"),
    ],
)
def test_amounts_have_their_unit(name: str, value: float, text: str) -> None:
    assert amount(name, value) == text  # type: ignore[arg-type]


def test_summary_of_nothing() -> None:
    assert PASSED.outcome is not None
    assert summary(PASSED.outcome) == "nothing fails"


def over(*findings: Finding) -> Report:
    """A gate that failed, as step 4 of 40 and others compiled at train.py:19."""
    at = location("train.py", 19)
    count = Count("compilations_after_warmup", 4.0, consumers=[Consumer(at, 4.0, 4, "input shape")])
    healthy = Verdict("device", "Fine; nothing to fix.")
    judged = diagnosis(*findings, counts=[count], verdict=healthy)
    limits = configuration({"budgets": {"max_compilations_after_warmup": 0}})
    return Report(judged, judge(judged, terms(limits)))


def test_headline_of_a_failed_gate_says_what_failed_and_where_the_cure_is() -> None:
    known = finding(
        "XD101",
        severity="info",
        severity_by_counts="info",
        locations=[location("train.py", 19)],
        fix="Pad it.",
    )
    report, why = over(known), "Gate failed: 4 compilations after warm-up, 0 allowed."
    assert headline(report) == f"{why} For the fix, see XD101 at train.py:19."
    assert headline(over()) == why
    assert report.outcome is not None
    assert budget_text(report.outcome.budgets[0], report.diagnosis)[-1].endswith("Fix: Pad it.")
    text = outcome_of(report)
    assert "Pad it." in text
    assert "nothing to fix" not in text


def test_only_a_gate_that_judges_times_speaks_of_them() -> None:
    cost, saving = Cost(2.4, None, "measured"), Saving(None, None, None, "none")
    costly = finding("XD101", locations=[location("train.py", 19)], cost=cost, saving=saving)
    by_counts = over(costly)
    assert by_counts.outcome is not None
    by_times = replace(by_counts, outcome=replace(by_counts.outcome, times=True))
    for name in ("terminal", "markdown", "github", "junit", "sarif", "gitlab"):
        assert "2.4 s" not in formatted(name, [by_counts])
        assert "2.4 s" in formatted(name, [by_times])
    assert "nothing to fix" not in headline(by_counts)
    assert headline(by_times).endswith(" Fine; nothing to fix.")
    assert headline(replace(by_counts, outcome=None)) == "Fine; nothing to fix."
