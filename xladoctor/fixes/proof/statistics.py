"""How many times as fast, from pairs of runs, with a confidence interval."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from xladoctor.fixes.proof.interface import Interval

#: Student's t at 97.5 % by degrees of freedom, from 1 on.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_NORMAL = 1.96


def times(pairs: Sequence[tuple[float, float]]) -> Interval:
    """The geometric mean of before / after over pairs of seconds, with its 95 % interval.

    Ratios of times are nearer to a normal distribution by their logarithms. Of one pair nothing is
    known of the spread: the interval is then from 0 to infinity.
    """
    logs = [math.log(before / after) for before, after in pairs]
    middle = statistics.fmean(logs)
    if len(logs) < 2:
        return Interval(math.exp(middle), 0.0, math.inf)
    degrees = len(logs) - 1
    t = _T[degrees - 1] if degrees <= len(_T) else _NORMAL
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))
