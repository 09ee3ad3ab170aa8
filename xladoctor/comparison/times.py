"""Compares what the loop and its compiling took, which needs no steps of the same shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xladoctor.comparison.interface import Difference, TimeChange, TimeName
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.quantities import duration

#: Differences in spite of which the loop as a whole says something: a fix may pad batches, and a
#: run that compiles in each step has none that the profiler left alone.
_HARMLESS = ("shapes", "profiler")
_MUCH, _PART = 1.2, 0.1  # times as long; of the longer loop


def time_changes(a: Diagnosis, b: Diagnosis) -> list[TimeChange]:
    """The loop, its compiling, and its average step, as far as both runs have them."""
    before, after = _seconds(a), _seconds(b)
    return [
        TimeChange(name, seconds, after[name])
        for name, seconds in before.items()
        if name in after and (seconds or after[name])
    ]


def _seconds(run: Diagnosis) -> dict[TimeName, float]:
    time, steps = run.time, run.steps
    if not time.loop_s:
        return {}
    parts = time.parts
    return {
        "loop": time.loop_s,
        **({"compiling": parts.warmup_compile_s + parts.compile_s} if parts else {}),
        **({"average_step": time.loop_s / steps.count} if steps and steps.count else {}),
    }


def gain(
    changes: Sequence[TimeChange], a: Diagnosis, b: Diagnosis, differences: Sequence[Difference]
) -> str:
    """What a change in compiling did to the loop, in a phrase; empty if it is a small one, or if
    the runs' times say nothing of each other.
    """
    if any(
        each.forbids != "nothing" and not each.accepted and each.what not in _HARMLESS
        for each in differences
    ):
        return ""
    by_name = {change.name: change for change in changes}
    loop, compiling = by_name.get("loop"), by_name.get("compiling")
    if loop is None or compiling is None or not _differs(compiling, max(loop.a_s, loop.b_s)):
        return ""
    return ", ".join(_told(loop, compiling, by_name.get("average_step"), _same_steps(a, b)))


def _told(
    loop: TimeChange, compiling: TimeChange, step: TimeChange | None, steps: int | None
) -> Iterator[str]:
    compiled = f"{_both(compiling)} of it compiling"
    if steps is not None:
        yield f"the loop's {steps} steps take {_both(loop)}{_factor(loop)}"
    elif step is not None:
        yield f"a step takes {_both(step)} on average{_factor(step)}"
        compiled = f"compiling {_both(compiling)}"
    else:
        yield f"the loop takes {_both(loop)}{_factor(loop)}"
    yield compiled


def _same_steps(a: Diagnosis, b: Diagnosis) -> int | None:
    counts = {run.steps.count if run.steps else None for run in (a, b)}
    return counts.pop() if len(counts) == 1 else None


def _differs(change: TimeChange, loop_s: float) -> bool:
    little, much = sorted((change.a_s, change.b_s))
    return much >= _MUCH * little and much - little >= _PART * loop_s


def _both(change: TimeChange) -> str:
    return f"{duration(change.a_s)} → {duration(change.b_s)}"


def _factor(change: TimeChange) -> str:
    text = factor(change)
    return f" ({text})" if text else ""


def factor(change: TimeChange) -> str:
    """Such as ``13 times as fast``; empty for less than a fifth."""
    little, much = sorted((change.a_s, change.b_s))
    if not little or much < _MUCH * little:
        return ""
    times = float(f"{much / little:.2g}")
    return f"{times:g} times as {'fast' if change.b_s < change.a_s else 'long'}"
