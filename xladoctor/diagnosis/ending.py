"""Says how a program ended, if not by itself and well, and what it did after its loop."""

from __future__ import annotations

import signal
from dataclasses import asdict

from xladoctor.diagnosis.interface import RunFacts, Steps, TimeSpent
from xladoctor.quantities import duration, percent

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
    after = " before a step was done" if without_steps else after
    if run.stopped_by:
        return f"the program was ended by {run.stopped_by}{after}"
    if run.signal == signal.SIGINT or run.status == _INTERRUPTED:
        return f"the program was interrupted{after}"
    if run.signal:
        return f"the program was ended by {signal_name(run.signal)}{after}"
    why = f": {uncaught}" if uncaught else ""
    return f"the program failed (exit status {run.status}){after}{why}" if run.status else ""


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
