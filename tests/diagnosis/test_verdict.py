"""The verdict on a loop, by its times and its findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support import PACK, evidence, finding
from xladoctor.diagnosis.basis import Basis
from xladoctor.diagnosis.finding import NO_SAVING, Claim, Cost, Finding, Saving, SavingBasis
from xladoctor.diagnosis.interface import (
    Explained,
    LineTime,
    RunFacts,
    Steps,
    TimeParts,
    TimeSpent,
    Unexplained,
    Verdict,
)
from xladoctor.diagnosis.reach import (
    after_loop,
    capture_failed,
    ending,
    few_recurring,
    reach,
)
from xladoctor.diagnosis.verdict import verdict


def spent(total: float | None = None, **parts: float) -> TimeSpent:
    """The loop takes ten seconds."""
    return TimeSpent(total, 10.0, TimeParts(**parts), parts.get("warmup_compile_s", 0.0))


def judge(time: TimeSpent, findings: list[Finding], **options: Any) -> Verdict:
    to_fix = [found for found in findings if found.severity != "info"]
    return verdict(Basis(time, findings, to_fix, PACK, **options))


@pytest.mark.parametrize(
    ("time", "bound_by", "text"),
    [
        (
            spent(compile_s=6.0, tracing_s=4.0),
            "compilation",
            "60% of the loop's 10 s went to compiling graphs; no rule has a fix for it.",
        ),
        (
            spent(warmup_compile_s=6.0, tracing_s=4.0),
            "compilation",
            "60% of the loop's 10 s went to compiling graphs in warm-up; no rule has a fix for it.",
        ),
        (
            spent(20.0, startup_s=10.0, tracing_s=6.0, python_s=4.0),
            "tracing",
            "60% of the loop's 10 s went to recording operations in Python (tracing); no rule"
            " has a fix for it.",
        ),
        (
            spent(40.0, startup_s=30.0, python_s=6.0, barrier_s=4.0),
            "tracing",
            "60% of the loop's 10 s after warm-up went to Python; no rule has a fix for it.",
        ),
        (
            spent(40.0, startup_s=29.0, python_s=6.0, tracing_s=1.0, barrier_s=4.0),
            "tracing",
            "60% of the loop's 10 s after warm-up went to other Python; no rule has a fix for it.",
        ),
        (
            spent(read_s=7.0, barrier_s=3.0),
            "host_sync",
            "70% of the loop's 10 s went to waiting for values read from the device; no"
            " rule has a fix for it.",
        ),
        (
            spent(input_s=7.0, barrier_s=3.0),
            "input",
            "70% of the loop's 10 s went to waiting for input; no rule has a fix for it.",
        ),
        (
            spent(barrier_s=4.0, dispatch_s=6.0),
            "dispatch",
            "60% of the loop's 10 s went to launching graphs (dispatch); no rule has a fix for it.",
        ),
        (
            spent(barrier_s=9.0, upload_s=1.0),
            "device",
            "90% of the loop's 10 s went to waiting for the device; nothing to fix.",
        ),
    ],
)
def test_verdict_names_the_largest_part(time: TimeSpent, bound_by: str, text: str) -> None:
    judged = judge(time, [])
    assert (judged.bound_by, judged.text) == (bound_by, text)


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ([], "nothing to fix."),
        (["info"], "nothing to fix."),
        (["warning"], "1 finding to fix."),
        (["error", "warning", "info"], "2 findings to fix."),
    ],
)
def test_verdict_counts_the_findings_to_fix(levels: list[Any], text: str) -> None:
    unknown = Saving(None, None, None, "none")
    findings = [finding(severity=level, saving=unknown) for level in levels]
    assert judge(spent(barrier_s=1.0), findings).text.endswith(f"; {text}")
    shown = text.replace(
        "nothing to fix",
        "1 finding below, for information" if levels else "nothing to fix in what it shows",
    )
    assert judge(TimeSpent(None, None, None, None), findings).text == (
        f"This evidence has no times of steps, so it is not known what limits the program; {shown}"
    )


def test_missing_barrier_comes_before_all_parts() -> None:
    judged = judge(spent(barrier_s=1.0), [finding("XD301", saving=NO_SAVING)])
    assert judged.bound_by == "missing_barrier"
    assert judged.text == "Steps pile up in one graph: no barrier ends them; 1 finding to fix."


def saves(seconds: float | None, remaining: float | None = None, **fields: Any) -> Finding:
    """A finding with an estimate if ``remaining`` is given, else with a bound or nothing."""
    basis: SavingBasis = "none" if seconds is None else "estimate" if remaining else "bound"
    saving = Saving(seconds, None, None, basis, remaining_s=remaining)
    return finding(**{"saving": saving, **fields})


NOTHING = finding(saving=Saving(0.01, 1.0, 0.001, "estimate", remaining_s=0.0))
WITH_OTHERS = finding(saving=Saving(0.01, 1.0, 0.001, "estimate", remaining_s=2.5))
HALF, LITTLE, BOUND, UNKNOWN = saves(6.0, 5.0), saves(6.0, 0.1), saves(6.0), saves(None)


@pytest.mark.parametrize(
    ("findings", "limit", "tail"),
    [
        (
            [HALF],
            "device",
            "fix 1 finding: the loop takes 5 s instead of 10 s.",
        ),
        (
            [HALF],
            "compilation",
            "fix 1 finding: the loop takes 5 s instead of 10 s, most of it compiling.",
        ),
        (
            [HALF, saves(6.0, 2.5)],
            "upload",
            "fix 2 findings: the loop takes 2.5 s instead of 10 s.",
        ),
        (
            [HALF, BOUND],
            None,
            "fix 2 findings: the loop takes at most 5 s instead of 10 s.",
        ),
        (
            [HALF, UNKNOWN],
            "host",
            "fix 2 findings: the loop takes at most 5 s instead of 10 s.",
        ),
        (
            [HALF, saves(9.0, 4.0, severity="info")],
            None,
            "fix 1 finding: the loop takes 5 s instead of 10 s;"
            " XD201, for information, may save more: 90% of the loop.",
        ),
        (
            [HALF, saves(5.9, 4.0, severity="info")],
            None,
            "fix 1 finding: the loop takes 5 s instead of 10 s.",
        ),
        (
            [LITTLE],
            "device",
            "1 finding to fix, which would save next to nothing: steps are limited by the device.",
        ),
        ([LITTLE, UNKNOWN], "device", "2 findings to fix."),
        (
            [HALF, NOTHING],
            "device",
            "fix 1 finding: the loop takes 5 s instead of 10 s.",
        ),
        (
            [HALF, WITH_OTHERS],  # neither counted nor promised
            "device",
            "fix 1 finding: the loop takes 5 s instead of 10 s.",
        ),
        (
            [NOTHING, NOTHING],
            "device",
            "2 findings, which would save next to nothing: steps are limited by the device.",
        ),
        ([BOUND], "device", "1 finding to fix, which saves at most 60% of the loop."),
        (
            [BOUND, UNKNOWN],
            "device",
            "2 findings to fix, of which XD201 saves at most 60% of the loop.",
        ),
        ([UNKNOWN], "device", "1 finding to fix."),
    ],
)
def test_verdict_says_what_fixing_all_brings(
    findings: list[Finding], limit: str | None, tail: str
) -> None:
    text = judge(spent(barrier_s=10.0), findings, limit=limit).text
    assert text == f"100% of the loop's 10 s went to waiting for the device; {tail}"


@pytest.mark.parametrize(
    ("findings", "speedup", "basis", "limit"),
    [
        ([HALF], 2.0, "estimate", "device"),
        ([HALF, BOUND], 2.0, "estimate", "device"),
        ([BOUND], 2.5, "bound", "device"),
        ([BOUND, BOUND], 1000.0, "bound", "device"),
        ([UNKNOWN], None, "none", None),
        ([], None, "none", None),
    ],
    ids=["estimate", "with a bound", "bound", "bounds overlap", "unknown", "no finding"],
)
def test_verdict_has_the_speedup_and_how_it_is_known(
    findings: list[Finding], speedup: float | None, basis: str, limit: str | None
) -> None:
    judged = judge(spent(barrier_s=10.0), findings, limit="device")
    assert (judged.speedup, judged.speedup_basis, judged.limited_by) == (speedup, basis, limit)


def test_speedup_is_of_the_loop_after_warm_up_unless_that_gets_shorter() -> None:
    time = spent(barrier_s=5.0, warmup_compile_s=5.0)
    assert judge(time, [saves(2.5, 2.5)]).speedup == 2.0
    cheaper = Saving(
        6.0, None, None, "estimate", remaining_s=6.0, assumes=[Claim("constant_cost", "compile")]
    )
    assert judge(time, [finding(saving=cheaper)]).speedup == 2.5
    once = Saving(
        4.0,
        None,
        None,
        "estimate",
        now_ms=50.0,
        after_ms=50.0,
        remaining_s=4.0,
        assumes=[Claim("compile_once", "compile", compilations=[1])],
    )
    assert judge(time, [finding(saving=once)]).speedup == round(10 / 6, 3)


def test_speedup_is_that_of_the_average_step_which_findings_show() -> None:
    time = spent(barrier_s=6.0, warmup_compile_s=4.0)  # 3 s of which lie outside of average steps
    step = Saving(2.7, None, None, "estimate", now_ms=30.0, after_ms=3.0, remaining_s=2.7)
    assert judge(time, [finding(saving=step)], steps=Steps(100, 3, None)).speedup == 10.0
    both = [finding(saving=replace(step, remaining_s=seconds)) for seconds in (1.0, 0.5)]
    assert judge(time, both, steps=Steps(100, 3, None)).speedup == 2.0


def test_one_estimate_without_a_replay_is_the_speedup_and_beside_others_it_is_more() -> None:
    time = spent(barrier_s=6.0)
    sampled = finding(saving=Saving(4.5, None, None, "estimate", now_ms=60.0, after_ms=15.0))
    alone = judge(time, [sampled], steps=Steps(100, 3, None))
    assert (alone.speedup, alone.speedup_basis) == (4.0, "estimate")
    assert "takes 5.5 s instead of 10 s, a step after warm-up 15 ms instead of 60 ms." in alone.text
    step = Saving(3.0, None, None, "estimate", now_ms=60.0, after_ms=30.0, remaining_s=3.0)
    both = judge(spent(barrier_s=6.0), [finding(saving=step), sampled])
    assert both.text.endswith(": the loop takes at most 7 s instead of 10 s.")


def test_a_step_that_takes_next_to_nothing_then() -> None:
    step = Saving(3.0, None, None, "estimate", now_ms=30.0, after_ms=0.1, remaining_s=2.99)
    text = judge(spent(barrier_s=6.0), [finding(saving=step)], steps=Steps(100, 3, None)).text
    assert text.endswith(
        "takes 7.01 s instead of 10 s, a step after warm-up 100 µs instead of 30 ms."
    )


def test_missing_barrier_has_a_speedup_too() -> None:
    judged = judge(spent(barrier_s=1.0), [saves(6.0, 5.0, rule="XD301")])
    assert (judged.bound_by, judged.speedup) == ("missing_barrier", 2.0)
    assert judged.text.endswith("; fix 1 finding: the loop takes 5 s instead of 10 s.")


def test_without_a_loop_there_is_no_speedup() -> None:
    judged = judge(TimeSpent(None, None, None, None), [HALF], limit="device")
    assert (judged.speedup, judged.limited_by) == (None, None)


def test_little_is_saved_of_a_short_run_and_more_of_a_long_one() -> None:
    time = spent(warmup_compile_s=9.0, barrier_s=1.0)
    step = Saving(0.1, None, None, "estimate", now_ms=10.0, after_ms=9.0, remaining_s=0.1)
    text = judge(time, [finding(saving=step)], steps=Steps(100, 3, None)).text
    assert text.endswith(
        "fix 1 finding for longer runs: a step after warm-up takes 9 ms instead of 10 ms,"
        " which saves 100 ms of this one."
    )


@pytest.mark.parametrize(
    ("time", "busy", "bound_by", "text"),
    [
        (
            spent(tracing_s=10.0),
            0.96,
            "device",
            "The device was busy 96% of the steady steps; 100%"
            " of the loop's 10 s went to recording operations in Python (tracing); nothing to fix.",
        ),
        (
            spent(tracing_s=10.0),
            None,
            "tracing",
            "100% of the loop's 10 s went to recording"
            " operations in Python (tracing); no rule has a fix for it.",
        ),
        (
            spent(barrier_s=10.0),
            0.96,
            "device",
            "100% of the loop's 10 s went to waiting for the device; nothing to fix.",
        ),
        (
            spent(warmup_compile_s=9.0, tracing_s=1.0),
            0.96,
            "compilation",
            "90% of the loop's 10 s went to compiling graphs in warm-up; no rule has a fix for it.",
        ),
    ],
)
def test_loop_whose_host_runs_ahead_is_bound_by_the_device(
    time: TimeSpent, busy: float | None, bound_by: str, text: str
) -> None:
    judged = judge(time, [], busy=busy)
    assert (judged.bound_by, judged.text) == (bound_by, text)


def test_reads_that_the_device_works_for_are_the_devices() -> None:
    time = replace(spent(read_s=7.0, barrier_s=3.0), device_s=6.5)
    assert judge(time, []).text == (
        "95% of the loop's 10 s went to waiting for the device; nothing to fix."
    )


def test_waiting_for_a_device_that_has_nothing_to_do_is_not_nothing() -> None:
    time = replace(spent(barrier_s=8.0, dispatch_s=2.0), device_s=0.4)

    assert judge(time, []).text == (
        "80% of the loop's 10 s went to waiting for the device, which was idle for 95% of that;"
        " no rule has a fix for it."
    )
    assert judge(replace(time, device_s=7.0), []).text.endswith("for the device; nothing to fix.")


def test_what_a_few_long_steps_lose_is_not_what_a_longer_run_loses() -> None:
    time = spent(40.0, startup_s=30.0, python_s=6.0, barrier_s=4.0)
    assert judge(time, [], steps=Steps(100, 3, 90.0)).text.endswith("; no rule has a fix for it.")
    assert judge(time, [], steps=Steps(100, 3, 10.0)).text.endswith("; nothing to fix.")


def test_what_no_rule_cures_has_its_hottest_line() -> None:
    time = spent(input_s=6.0, barrier_s=4.0)
    rows = [
        Unexplained("barrier", 4.0, [LineTime("train.py", 30, 4.0)]),
        Unexplained("input", 6.0, [LineTime("train.py", 12, 5.0)]),
    ]
    text = judge(replace(time, unexplained=rows), []).text
    assert text.endswith("; no rule has a fix for it; most of it is at train.py:12.")


def test_a_line_with_less_than_half_of_it_has_its_share() -> None:
    rows = [Unexplained("input", 6.0, [LineTime("train.py", 12, 1.5)])]
    text = judge(replace(spent(input_s=6.0, barrier_s=4.0), unexplained=rows), []).text
    assert text.endswith("; no rule has a fix for it; 25% of it is at train.py:12.")


def test_what_costs_much_once_is_to_be_fixed_and_has_its_reach() -> None:
    once = Saving(4.0, None, 0.4, "estimate", remaining_s=4.0, next_1000_s=0.0)
    text = judge(spent(compile_s=6.0, barrier_s=4.0), [finding(saving=once)]).text
    assert text.endswith("; fix 1 finding to save 4 s of this run; a longer run loses no more.")


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (None, ""),
        (Steps(3, 3, None), "All of its 3 steps were warm-up: the steady loop was not judged"),
        (Steps(1, 1, None), "Its only step was warm-up: the steady loop was not judged"),
        (
            Steps(4, 3, 1.0),
            "Only 1 of its 4 steps came after warm-up: the steady loop was hardly judged",
        ),
        (Steps(6, 3, 1.0), ""),
    ],
)
def test_steps_too_few_to_show_what_recurs_come_first(steps: Steps | None, sentence: str) -> None:
    assert few_recurring(steps) == sentence
    text = judge(spent(barrier_s=9.0, upload_s=1.0), [], first=[sentence] * bool(sentence)).text
    assert text.startswith(sentence)


def test_a_program_that_made_no_step_is_not_said_to_have_made_some() -> None:
    ended = ending(RunFacts("run", "run", signal=15), None, without_steps=True)
    assert ended == "the program was ended by SIGTERM before its first step ended"


def test_a_program_that_failed_before_a_step_has_no_share_of_a_loop_but_the_line() -> None:
    failed = RunFacts("run", "run", status=1)
    ended = ending(failed, None, without_steps=True, uncaught="ValueError at train.py:12")
    time = spent(30.0, startup_s=20.0, python_s=10.0)
    judged = judge(time, [], first=[ended], without_steps=True, unjudged="no step could be judged")
    assert judged.text == (
        "The program failed (exit status 1) before its first step ended: ValueError at train.py:12."
        " 33% of the run's 30 s went to Python, 67% to start-up; no step could be judged."
    )


def test_what_comes_after_the_loop_is_said_where_it_is_the_largest_part() -> None:
    time = spent(100.0, startup_s=10.0, warmup_compile_s=8.0, python_s=2.0, after_s=80.0)
    after = Unexplained("after", 80.0, [LineTime("train.py", 167, 30.0)])
    sentence = after_loop(replace(time, unexplained=[after]))
    assert sentence == "80% of the run's 100 s came after the loop, 30 s of it at train.py:167"
    assert after_loop(time) == ""  # it may be no work of the framework's
    little = spent(100.0, startup_s=85.0, python_s=10.0, after_s=5.0)
    assert after_loop(replace(little, unexplained=[replace(after, seconds=5.0)])) == ""
    judged = judge(time, [saves(1.0, 0.8)], first=[sentence])
    assert judged.text == (
        f"{sentence}. 8% of the run's 100 s went to compiling graphs in warm-up; fix 1 finding:"
        " the loop takes 9.2 s instead of 10 s."
    )


def test_a_wait_in_collectives_is_not_the_device_s_work() -> None:
    judged = judge(spent(read_s=7.0, python_s=3.0), [], waiting=0.9)
    assert judged.text.startswith(
        "70% of the loop's 10 s went to collectives, waiting for other processes"
    )


def test_what_a_finding_is_about_has_a_cure() -> None:
    time = spent(40.0, startup_s=30.0, save_s=6.0, barrier_s=4.0)
    known = Explained(0.0, 30.0, 5.0, 0.0, 0.9)
    time = replace(time, explained=known, unexplained=[Unexplained("save", 1.0)])
    saved = finding("XD503", severity="info", saving=Saving(5.0, None, None, "bound"))
    assert judge(time, [saved]).text.endswith("; an optional fix saves at most 50% of the loop.")


def test_findings_of_a_program_that_never_left_warm_up_have_no_speedup() -> None:
    judged = judge(spent(compile_s=10.0), [HALF], steps=Steps(3, 3, None))
    assert judged.speedup is None
    assert judged.text.endswith("; 1 finding to fix; let it run longer.")


def test_a_note_that_saves_something_is_not_nothing() -> None:
    note = finding(severity="info", saving=Saving(0.3, None, 0.03, "estimate"))
    assert judge(spent(barrier_s=10.0), [note]).text.endswith(
        "; an optional fix saves 3% of the loop."
    )


def test_large_speedup_needs_no_exponent() -> None:
    text = judge(spent(tracing_s=10.0), [saves(9.92, 9.92)]).text
    assert "e+" not in text


@pytest.mark.parametrize(
    ("findings", "bound_by", "share"),
    [
        ([saves(7.0, 1.0)], "device", "90%"),
        ([saves(7.0, 6.0)], "host_sync", "60%"),
        ([saves(7.0, 4.0), saves(7.0, 4.0, rule="XD203")], "host_sync", "70%"),
        ([saves(7.0, 1.0), saves(7.0)], "host_sync", "70%"),
        ([saves(7.0, 1.0, rule="XD204")], "host_sync", "70%"),
        ([], "host_sync", "70%"),
    ],
    ids=[
        "the device works",
        "the host waits",
        "no more than blocked",
        "one is not known",
        "an upload is not a read",
        "no read",
    ],
)
def test_blocked_time_that_the_device_needs_is_the_device_s(
    findings: list[Finding], bound_by: str, share: str
) -> None:
    judged = judge(spent(read_s=7.0, barrier_s=3.0), findings)
    assert (judged.bound_by, judged.text.partition(" of")[0]) == (bound_by, share)


LONG, SHORT = Steps(40, 3, 1.0), Steps(2, 2, None)


@pytest.mark.parametrize(
    ("facts", "steps", "waited", "claim"),
    [
        ({"status": 0}, LONG, 0.1, "nothing to fix."),
        ({}, None, 0.0, "nothing to fix."),
        (
            {"status": 0},
            LONG,
            0.7,
            "nothing to fix visible on a machine this busy (see the notes).",
        ),
        ({"status": 1}, LONG, 0.7, "nothing to fix until then."),
        ({"signal": 9}, LONG, 0.0, "nothing to fix until then."),
        ({"status": 0}, SHORT, 0.0, "nothing to fix in what was judged; let it run longer."),
        (
            {"status": 1},
            Steps(1, 1, None),
            0.0,
            "nothing to fix until then.",
        ),
        (
            {"incomplete": ["lost"], "status": 1},
            SHORT,
            0.0,
            "nothing to fix in this evidence, which lacks a part (see the notes).",
        ),
    ],
)
def test_nothing_to_fix_says_how_far_that_goes(
    facts: dict[str, Any], steps: Steps | None, waited: float, claim: str
) -> None:
    so_far = reach(RunFacts("run", "run", **facts), steps, waited)
    text = judge(spent(barrier_s=9.0, upload_s=1.0), [], so_far=so_far).text
    assert text.endswith(claim)


def test_how_the_program_failed_comes_first() -> None:
    ended = ending(RunFacts("run", "run", status=1), LONG)
    text = judge(spent(barrier_s=9.0, upload_s=1.0), [], first=[ended]).text
    assert text.startswith("The program failed (exit status 1) after 40 steps. 90% of the loop")


@pytest.mark.parametrize(
    ("costs", "judged", "told"),
    [
        ([], (1, 60), "1 of 60 rules could be evaluated and found nothing."),
        ([], (0, 60), "no rule could be evaluated."),
        ([3.2], (9, 26), "1 finding below may matter."),
        ([3.2, 1.0], (9, 26), "2 findings below may matter."),
    ],
)
def test_without_times_nothing_is_said_to_be_right(
    costs: list[float], judged: tuple[int, int], told: str
) -> None:
    found = [
        finding(
            severity="info",
            cost=Cost(seconds, None, "measured"),
            saving=Saving(None, None, None, "none"),
        )
        for seconds in costs
    ]
    assert judge(TimeSpent(None, None, None, None), found, judged=judged).text == (
        f"This evidence has no times of steps, so it is not known what limits the program; {told}"
    )


def test_without_times_the_report_s_own_are_told() -> None:
    unknown = TimeSpent(None, None, None, None)
    told = judge(unknown, [], reported="The report has CompileTime 3.4 s").text
    assert told == (
        "The report has CompileTime 3.4 s, but no times of steps; nothing to fix in what it shows."
    )
    assert "report" not in judge(spent(barrier_s=1.0), [], reported="The report has none").text


def test_nothing_found_by_the_rules_that_are_on_is_no_more_than_that() -> None:
    device, compiling = spent(10.0, barrier_s=9.0), spent(10.0, compile_s=9.0)
    assert judge(device, [], off=1).text.endswith("; nothing to fix, with 1 rule switched off.")
    assert judge(compiling, [], off=2).text.endswith(
        "; no rule has a fix for it, with 2 rules switched off."
    )
    assert "switched off" not in judge(device, [HALF], off=2).text


def test_what_goes_on_within_one_launch_is_not_judged() -> None:
    reading = spent(100.0, read_s=70.0, startup_s=10.0)
    assert judge(reading, [], once=True, busy=0.96).text == (
        "70% of the run's 100 s went to waiting for values read from the device; nothing"
        " runs twice, and the evidence does not show what happens inside a run."
    )
    compiling = spent(100.0, compile_s=70.0)
    assert judge(compiling, [], once=True) == judge(compiling, [])


@pytest.mark.parametrize(
    ("faults", "sentence"),
    [
        ([], ""),
        ([0], ""),  # the capture of the other process went on
        (
            [0, 1],
            "the capture failed after 34 steps: what the program did then was not judged",
        ),
    ],
    ids=str,
)
def test_a_capture_that_failed_comes_first(faults: list[int], sentence: str) -> None:
    tables: dict[str, list[dict[str, Any]]] = {
        "process": [{"process": number} for number in (0, 1)],
        "capture_fault": [{"process": number, "text": "OSError"} for number in faults],
    }
    assert capture_failed(evidence(tables), Steps(34, 3, 8.0)) == sentence
