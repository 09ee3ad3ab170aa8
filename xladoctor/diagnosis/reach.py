"""Explains how far a diagnosis reaches, so that "nothing to fix" is never said without knowing,
how the program ended, if not by itself and well, and what it did after its loop.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from xladoctor.diagnosis.finding import NotChecked
from xladoctor.diagnosis.interface import RunFacts, Steps, TimeSpent
from xladoctor.diagnosis.rule import Rule
from xladoctor.quantities import duration, percent

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence  # which loads the database

_BUSY = 0.5  # share of the loop waiting for a processor, above which times mean nothing
_RECURRING = 3  # steps after warm-up that show what recurs
_STEPS = """
    SELECT max(steps) FROM (
        SELECT count(*) FILTER (steady OR NOT $steady) AS steps FROM profiled_step GROUP BY process
    )
"""
_UNMARKED = "SELECT bool_and(steps_from = 'span') FROM timeline"
_STRANGE = "SELECT min(not_understood) FROM timeline"
_CAPTURE_FAILED = """
    SELECT count(DISTINCT f.process) = count(DISTINCT p.process) AND count(*) > 0
    FROM process p LEFT JOIN capture_fault f ON f.process = p.process
"""
_WARMING_UP = """
    SELECT count(*) FROM profiled_step
    WHERE process IN (SELECT process FROM device)
      AND process NOT IN (SELECT process FROM timeline_step WHERE steady)
"""


def reach(run: RunFacts, steps: Steps | None, waited: float) -> str:
    """What "nothing to fix" applies to, if not to the whole program: it was cut off, it failed, it
    never left warm-up, or other programs occupied the machine.

    Args:
        waited: the share of the loop in which it waited for a processor.
    """
    if run.running:
        return " in what the program has done so far"
    if run.incomplete:
        return " in this evidence, which lacks a part (see the notes)"
    if run.signal is not None or run.status:
        return " until then"
    if few_recurring(steps):
        return " in what was judged; let it run longer"
    return " visible on a machine this busy (see the notes)" if waited >= _BUSY else ""


def few_recurring(steps: Steps | None) -> str:
    """A sentence on steps after warm-up that are too few to show what recurs; empty otherwise."""
    if steps is None or steps.count - steps.warmup >= _RECURRING:
        return ""
    left = steps.count - steps.warmup
    if not left:
        all_of = "All of its" if steps.count > 1 else "Its"
        were = f"{steps.count} steps were" if steps.count > 1 else "only step was"
        return f"{all_of} {were} warm-up: the steady loop was not judged"
    return (
        f"Only {left} of its {steps.count} steps came after warm-up: the steady loop was hardly"
        " judged"
    )


def few_steps(rule: Rule, evidence: Evidence) -> str | None:
    """Why a rule without findings proves nothing: it looks for something that recurs, and another
    profiler's timeline has too few steps to show that.
    """
    steps, kind = _steps(rule, evidence) if rule.needs_steps else (None, "")
    if not steps or steps >= rule.needs_steps:
        return None
    return f"the timeline has {_counted(steps, kind)}, and this rule needs {rule.needs_steps}"


def _steps(rule: Rule, evidence: Evidence) -> tuple[int | None, str]:
    """The number and kind of steps in another profiler's timeline that a rule examines."""
    steady = "steady_timeline" in rule.needs_rows
    return evidence.database.scalar(_STEPS, {"steady": steady}), "steady " * steady


def unjudged(evidence: Evidence, pack: Sequence[Rule], not_checked: Sequence[NotChecked]) -> str:
    """The verdict's text in place of "nothing to fix" for another profiler's timeline, if important
    rules could not be evaluated; empty otherwise.
    """
    strange = evidence.database.scalar(_STRANGE)
    if strange:
        return (
            "waits and launches are unknown: xladoctor does not understand the device's runtime"
            f" ({strange})"
        )
    warming_up = evidence.database.scalar(_WARMING_UP)
    if warming_up:
        return f"{_counted(warming_up)} of warm-up {_show_nothing(warming_up)}: record later ones"
    reasons = {skipped.rule: skipped.reason for skipped in not_checked}
    few = [
        rule
        for rule in pack
        if rule.id in reasons and reasons[rule.id] == few_steps(rule, evidence)
    ]
    if not few:
        return ""
    most = max(few, key=lambda rule: rule.needs_steps)
    steps, kind = _steps(most, evidence)
    if evidence.database.scalar(_UNMARKED):
        return f"the steady loop is unknown without steps: mark {most.needs_steps} or more"
    shown = f"{_counted(steps or 0, kind)} {_show_nothing(steps or 0)}"
    return f"{shown}: record {most.needs_steps} or more"


def _counted(steps: int, kind: str = "") -> str:
    return f"one {kind}step" if steps == 1 else f"{steps} {kind}steps"


def _show_nothing(steps: int) -> str:
    return f"{'does' if steps == 1 else 'do'} not show the steady loop"


_MUCH = 0.2  # share of the run
_INTERRUPTED = 128 + signal.SIGINT


def ending(
    run: RunFacts, steps: Steps | None, *, without_steps: bool = False, uncaught: str | None = None
) -> str:
    """Such as ``the program failed (exit status 1) after 29 steps``; empty if it did not fail.

    Args:
        without_steps: whether it is known that it made none.
        uncaught: the exception that ended it, and where, if that is known.
    """
    after = f" after {steps.count} step{'s' * (steps.count != 1)}" if steps else ""
    after = " before its first step ended" if without_steps else after
    if run.stopped_by:
        return f"the program was ended by {run.stopped_by}{after}"
    if run.signal == signal.SIGINT or run.status == _INTERRUPTED:
        return f"the program was interrupted{after}"
    if run.signal:
        return f"the program was ended by {signal_name(run.signal)}{after}"
    why = f": {uncaught}" if uncaught else ""
    return f"the program failed (exit status {run.status}){after}{why}" if run.status else ""


def capture_failed(evidence: Evidence, steps: Steps | None) -> str:
    """A sentence on a capture that ended before the program did, in all processes; else empty."""
    if not evidence.database.scalar(_CAPTURE_FAILED):
        return ""
    after = f" after {_counted(steps.count)}" if steps else ""
    return f"the capture failed{after}: what the program did then was not judged"


def after_loop(time: TimeSpent) -> str:
    """A sentence on the work after the loop that lines are known of, if it is the largest part;
    else empty.
    """
    row = next((row for row in time.unexplained if row.part == "after" and row.lines), None)
    if row is None or time.parts is None or row.seconds < max(asdict(time.parts).values()):
        return ""
    if row.seconds <= _MUCH * time.whole_s:
        return ""
    line, share = row.lines[0], percent(row.seconds / time.whole_s)
    at = f"{duration(line.seconds)} of it at {line.file}:{line.line}"
    return f"{share} of the {time.base}'s {duration(time.whole_s)} came after the loop, {at}"


def signal_name(number: int) -> str:
    """Such as ``SIGTERM``; ``signal 99`` if it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
