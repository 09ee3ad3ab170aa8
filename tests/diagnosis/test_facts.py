"""Time, steps and verdict of a run, whatever its findings are."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import PACK, Row, evidence, finding, step
from xladoctor.diagnosis.facts import duration, percent, run, steps, time_spent, verdict
from xladoctor.diagnosis.interface import (
    Claim,
    Finding,
    Saving,
    SavingBasis,
    Steps,
    TimeParts,
    TimeSpent,
    Verdict,
)

SECOND = 10**9


# Time


def test_parts_of_the_loop_add_up_to_it() -> None:
    row = step(0, duration_ns=10 * SECOND, compile_ns=4 * SECOND, read_ns=SECOND,
               input_ns=SECOND // 2, barrier_ns=2 * SECOND, upload_ns=SECOND // 4)  # fmt: skip
    time = time_spent(evidence({"step": [row]}, ended={"seconds": 12.5}))

    assert time == TimeSpent(12.5, 10.0, TimeParts(4.0, 1.0, 0.5, 2.25, 2.0, 0.25), 0.0)
    assert sum(dataclasses.astuple(time.parts or TimeParts(0, 0, 0, 0, 0, 0))) == time.loop_s


def test_time_is_of_the_thread_that_took_longest() -> None:
    rows = [step(0), step(0, thread=2, duration_ns=3 * SECOND), step(0, process=1)]
    assert time_spent(evidence({"step": rows})).loop_s == 3.0


def test_time_after_the_last_barrier_is_no_loop_unless_there_is_no_barrier() -> None:
    tail = step(1, tail=True, duration_ns=9 * SECOND)
    assert time_spent(evidence({"step": [step(0), tail]})).loop_s == 0.001
    assert time_spent(evidence({"step": [tail]})).loop_s == 9.0
    assert time_spent(evidence({"step": [{**tail, "main": False}]})).loop_s is None


def test_without_steps_there_are_no_parts() -> None:
    assert time_spent(evidence({})) == TimeSpent(None, None, None, None)


def test_compiling_in_the_first_launches_is_warm_up() -> None:
    compilations = [{"process": p, "ordinal": ordinal, "duration_ns": SECOND}
                    for p, ordinal in ((0, 0), (0, 2), (0, 3), (1, 0))]  # fmt: skip
    rows = [step(i, duration_ns=10 * SECOND, compile_ns=SECOND) for i in range(3)]
    assert time_spent(
        evidence({"step": rows, "compilation": compilations})
    ).warmup_compile_s == 2.0  # fmt: skip


# Steps


def of(*rows: Row, period: int | None = None) -> Steps | None:
    tables: dict[str, list[Row]] = {"step": list(rows)}
    if period:
        tables["step_period"] = [{"process": 0, "thread": 1, "barriers": period}]
    return steps(evidence(tables))


def test_median_is_of_warm_steps_that_did_not_compile() -> None:
    rows = [step(i, duration_ns=9 * SECOND) for i in range(3)]
    rows += [step(i, duration_ns=i * 10**6) for i in (3, 4, 5)]
    rows += [step(6, duration_ns=SECOND, compilations=1), step(7, duration_ns=SECOND, probed=True)]
    assert of(*rows) == Steps(8, 3, 4.0)


def test_traced_steps_count_only_where_there_are_no_others() -> None:
    traced = [step(i, duration_ns=2 * 10**6, traced=True) for i in range(6)]
    assert of(*traced) == Steps(6, 3, 2.0)
    assert of(*traced, step(6, duration_ns=10**6)) == Steps(7, 3, 1.0)


def test_step_of_several_barriers() -> None:
    assert of(*(step(i) for i in range(16)), period=4) == Steps(4, 3, 4.0)


def test_row_of_several_barriers_is_that_many_steps() -> None:
    rows = [step(i) for i in range(3)] + [step(13, barriers=10, duration_ns=20 * 10**6)]
    assert of(*rows) == Steps(13, 3, 2.0)


def test_no_barrier_no_steps() -> None:
    assert of(step(0, tail=True)) is None
    assert steps(evidence({})) is None


def test_warm_steps_may_not_have_come_yet() -> None:
    assert of(step(0), step(1)) == Steps(2, 2, None)


# Verdict


def spent(**parts: float) -> TimeSpent:
    zero = dict.fromkeys(("compile_s", "blocked_s", "input_s", "tracing_s", "device_s", "other_s"),
                         0.0)  # fmt: skip
    warmup = parts.pop("warmup", 0.0)
    return TimeSpent(20.0, 10.0, TimeParts(**{**zero, **parts}), warmup)


def said(time: TimeSpent, findings: list[Finding], **options: Any) -> Verdict:
    return verdict(time, findings, PACK, **options)


@pytest.mark.parametrize(
    ("time", "bound_by", "text"),
    [
        (spent(compile_s=6.0, tracing_s=4.0), "compilation",
         "60 % of the loop's 10 s went compiling graphs; nothing to fix."),
        (spent(compile_s=6.0, tracing_s=4.0, warmup=6.0), "tracing",
         "100 % of the loop's 4 s (after 6 s of compiling in warm-up) went in Python between"
         " barriers; nothing to fix."),
        (spent(blocked_s=7.0, device_s=3.0), "host_sync",
         "70 % of the loop's 10 s went blocked while the host reads device values; nothing to"
         " fix."),
        (spent(input_s=7.0, device_s=3.0), "input",
         "70 % of the loop's 10 s went waiting for input; nothing to fix."),
        (spent(device_s=9.0, other_s=1.0), "device",
         "90 % of the loop's 10 s went waiting for the device; nothing to fix."),
    ],
)  # fmt: skip
def test_verdict_names_the_largest_part(time: TimeSpent, bound_by: str, text: str) -> None:
    found = said(time, [])
    assert (found.bound_by, found.text) == (bound_by, text)


@pytest.mark.parametrize(
    ("levels", "text"),
    [([], "nothing to fix."), (["info"], "nothing to fix."), (["warning"], "1 finding to fix."),
     (["error", "warning", "info"], "2 findings to fix.")],
)  # fmt: skip
def test_verdict_counts_what_is_to_be_fixed(levels: list[Any], text: str) -> None:
    findings = [finding(severity=level) for level in levels]
    assert said(spent(device_s=1.0), findings).text.endswith(f"; {text}")
    assert said(TimeSpent(None, None, None, None), findings).text == (
        f"No step log in this evidence: what bounds the program cannot be told; {text}"
    )


def test_missing_barrier_comes_before_all_parts() -> None:
    found = said(spent(device_s=1.0), [finding("XD301")])
    assert found.bound_by == "missing_barrier"
    assert found.text == "Steps pile up in one graph for lack of a barrier; 1 finding to fix."


def saves(seconds: float | None, remaining: float | None = None, **fields: Any) -> Finding:
    """A finding that an estimate tells of where something remains, else a bound, or nothing."""
    basis: SavingBasis = "none" if seconds is None else "estimate" if remaining else "bound"
    saving = Saving(seconds, None, None, basis, remaining_s=remaining)
    return finding(**{"saving": saving, **fields})


HALF, LITTLE, BOUND, UNKNOWN = saves(6.0, 5.0), saves(6.0, 0.1), saves(6.0), saves(None)


@pytest.mark.parametrize(
    ("findings", "limit", "tail"),
    [
        ([HALF], "device", "1 finding to fix for a loop 2 times as fast, then limited by the"
         " device."),
        ([HALF], None, "1 finding to fix for a loop 2 times as fast."),
        ([HALF, saves(6.0, 2.5)], "upload", "2 findings to fix for a loop 4 times as fast, then"
         " limited by sending tensors."),
        ([HALF, BOUND], None, "2 findings to fix for a loop 2 times as fast."),
        ([HALF, UNKNOWN], "host", "2 findings to fix for a loop 2 times as fast or more, then"
         " limited by other Python on the host."),
        ([HALF, saves(9.0, 4.0, severity="info")], None, "1 finding to fix for a loop 2 times as"
         " fast."),
        ([LITTLE], "device", "1 finding to fix, which gains next to nothing, then limited by the"
         " device."),
        ([LITTLE, UNKNOWN], "device", "2 findings to fix."),
        ([BOUND], "device", "1 finding to fix."),
        ([UNKNOWN], "device", "1 finding to fix."),
    ],
)  # fmt: skip
def test_verdict_says_what_fixing_all_brings(
    findings: list[Finding], limit: str | None, tail: str
) -> None:
    text = said(spent(device_s=10.0), findings, limit=limit).text
    assert text == f"100 % of the loop's 10 s went waiting for the device; {tail}"


@pytest.mark.parametrize(
    ("findings", "speedup", "basis", "limit"),
    [([HALF], 2.0, "estimate", "device"), ([HALF, BOUND], 2.0, "estimate", "device"),
     ([BOUND], 2.5, "bound", "device"), ([BOUND, BOUND], 1000.0, "bound", "device"),
     ([UNKNOWN], None, "none", None), ([], None, "none", None)],
    ids=["estimate", "with a bound", "bound", "bounds overlap", "unknown", "no finding"],
)  # fmt: skip
def test_verdict_has_the_speedup_and_how_it_is_known(
    findings: list[Finding], speedup: float | None, basis: str, limit: str | None
) -> None:
    found = said(spent(device_s=10.0), findings, limit="device")
    assert (found.speedup, found.speedup_basis, found.limited_by) == (speedup, basis, limit)


def test_speedup_is_of_the_loop_after_warm_up_unless_that_gets_shorter() -> None:
    time = spent(device_s=5.0, compile_s=5.0, warmup=5.0)
    assert said(time, [saves(2.5, 2.5)]).speedup == 2.0
    cheaper = Saving(6.0, None, None, "estimate", remaining_s=6.0,
                     assumes=[Claim("constant_cost", "compile")])  # fmt: skip
    assert said(time, [finding(saving=cheaper)]).speedup == 2.5


def test_missing_barrier_has_a_speedup_too() -> None:
    found = said(spent(device_s=1.0), [saves(6.0, 5.0, rule="XD301")])
    assert (found.bound_by, found.speedup) == ("missing_barrier", 2.0)
    assert found.text.endswith("; 1 finding to fix for a loop 2 times as fast.")


def test_without_a_loop_there_is_no_speedup() -> None:
    found = said(TimeSpent(None, None, None, None), [HALF], limit="device")
    assert (found.speedup, found.limited_by) == (None, None)


def test_small_speedup_is_told_to_the_hundredth() -> None:
    text = said(spent(device_s=10.0), [saves(6.0, 1.0)]).text
    assert text.endswith("; 1 finding to fix for a loop 1.11 times as fast.")


@pytest.mark.parametrize(
    ("time", "busy", "bound_by", "text"),
    [(spent(tracing_s=10.0), 0.96, "device", "The device worked for 96 % of the time; meanwhile"
      " 100 % of the loop's 10 s went in Python between barriers; nothing to fix."),
     (spent(tracing_s=10.0), None, "tracing", "100 % of the loop's 10 s went in Python between"
      " barriers; nothing to fix."),
     (spent(device_s=10.0), 0.96, "device", "100 % of the loop's 10 s went waiting for the device;"
      " nothing to fix.")],
)  # fmt: skip
def test_loop_whose_host_runs_ahead_is_bound_by_the_device(
    time: TimeSpent, busy: float | None, bound_by: str, text: str
) -> None:
    found = said(time, [], busy=busy)
    assert (found.bound_by, found.text) == (bound_by, text)


def test_large_speedup_needs_no_exponent() -> None:
    text = said(spent(tracing_s=10.0), [saves(9.92, 9.92)]).text
    assert "e+" not in text


@pytest.mark.parametrize(
    ("findings", "bound_by", "share"),
    [
        ([saves(7.0, 1.0)], "device", "90 %"),
        ([saves(7.0, 6.0)], "host_sync", "60 %"),
        ([saves(7.0, 4.0), saves(7.0, 4.0, rule="XD203")], "host_sync", "70 %"),
        ([saves(7.0, 1.0), saves(7.0)], "host_sync", "70 %"),
        ([saves(7.0, 1.0, rule="XD204")], "host_sync", "70 %"),
        ([], "host_sync", "70 %"),
    ],
    ids=["the device works", "the host waits", "no more than blocked", "one is not known",
         "an upload is no read", "no read"],
)  # fmt: skip
def test_blocked_time_that_the_device_needs_is_the_device_s(
    findings: list[Finding], bound_by: str, share: str
) -> None:
    found = said(spent(blocked_s=7.0, device_s=3.0), findings)
    assert (found.bound_by, found.text.partition(" of")[0]) == (bound_by, share)


# The run


def test_run_is_described_by_its_manifest_and_its_processes() -> None:
    processes = [{"process": p, "device_kind": "TPU", "devices": 4, "frontend": "torch_xla"}
                 for p in (0, 1)]  # fmt: skip
    versions = [{"process": p, "package": "torch_xla", "version": f"2.9.{p}"} for p in (0, 1)]
    facts = run(evidence({"process": processes, "version": versions}, command=["python", "a.py"],
                         ended={"status": None, "signal": 9}))  # fmt: skip
    assert (facts.command, facts.status, facts.signal) == (["python", "a.py"], None, 9)
    assert (facts.processes, facts.device, facts.devices) == (2, "TPU", 8)
    assert (facts.frontend, facts.versions) == ("torch_xla", {"torch_xla": "2.9.0"})


def test_run_of_which_nothing_is_known() -> None:
    facts = run(evidence({}))
    assert (facts.processes, facts.device, facts.devices, facts.command) == (0, None, 0, [])


# Numbers for people


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 µs"), (0.00084, "840 µs"), (0.001, "1 ms"), (0.01214, "12.1 ms"), (0.999, "999 ms"),
     (0.9996, "1 s"), (3.42, "3.42 s"), (119.6, "2 min 00 s"), (125, "2 min 05 s"),
     (3600, "60 min 00 s")],
)  # fmt: skip
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(0, 1e6))
def test_duration_never_needs_an_exponent(seconds: float) -> None:
    assert "e" not in duration(seconds)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0001, "<1 %"), (0.005, "<1 %"), (0.0051, "1 %"), (0.126, "13 %"), (1, "100 %")],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.floats(0, 1, exclude_min=True))
def test_what_is_there_is_never_shown_as_nothing(share: float) -> None:
    assert percent(share) != "0 %"
