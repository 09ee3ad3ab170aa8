"""Compares the time of a step in both runs, from the step times that each is judged by."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from xladoctor.comparison.interface import (
    Demand,
    Difference,
    Interval,
    StepTime,
    StepVerdict,
)
from xladoctor.diagnosis.step_samples import Samples

#: Two runs that differ by less count as equal, whatever the samples show: see docs/compare.md.
FLOOR = 0.10


def step_time(
    a: Samples, b: Samples, differences: Sequence[Difference], demand: Demand
) -> StepTime:
    """The medians, the interval of their change, and the verdict."""
    from xladoctor.comparison.significance import change, effective  # loads numpy

    first, second = a.ms, b.ms
    floor = FLOOR if demand.max_slowdown is None else demand.max_slowdown
    forbidden = [d.what for d in differences if d.forbids != "nothing" and not d.accepted]
    interval = change(first, second) if first and second else None
    medians = [round(median(ms), 4) if ms else None for ms in (first, second)]
    verdict, statement = _judge(medians, interval, forbidden, floor)
    worth = [int(effective(ms)) if ms else 0 for ms in (first, second)]
    return StepTime(
        medians[0],
        medians[1],
        len(first),
        len(second),
        worth[0],
        worth[1],
        interval,
        verdict,
        floor,
        statement,
        fails=verdict == "slower" and demand.max_slowdown is not None,
    )


def _judge(
    medians: Sequence[float | None],
    interval: Interval | None,
    forbidden: Sequence[str],
    floor: float,
) -> tuple[StepVerdict, str]:
    lacking = [name for name, value in zip("AB", medians, strict=True) if value is None]
    if lacking:
        return "unknown", f"no steady step in {' and '.join(lacking)}"
    if forbidden:
        return "not_judged", f"not judged, as the runs differ in {', '.join(forbidden)}"
    if interval is None:
        return "too_few", "too few steps to tell"
    if interval.low > floor:
        return "slower", "slower"
    if interval.high < 1 / (1 + floor) - 1:
        return "faster", "faster"
    return "no_difference", f"no certain difference of more than {floor * 100:g}%"
