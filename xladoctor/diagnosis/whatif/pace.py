"""Scales the timeline of a loop without barriers to the whole loop.

Its window ends early, and what piles up takes longer with each iteration: reads that took little of
the window can be most of the loop. The step log has the seconds of each activity in the whole loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from xladoctor.diagnosis.whatif.program import COMPILE, Program
from xladoctor.facts.parts import REGIONS

Array = np.ndarray[Any, Any]


def at_the_pace_of(program: Program, regions_s: Mapping[str, float], rest_s: float) -> Program:
    """The program with calls as long as in the run.

    Args:
        program: the program of the timeline's window.
        regions_s: seconds of the run by region, without compilation.
        rest_s: seconds of the run outside of these regions.
    """
    factor, others = np.ones(len(program.work)), program.activity != COMPILE
    for name, seconds in regions_s.items():
        items = (program.region == REGIONS.index(name)) & (program.activity != COMPILE)
        factor[items] = _ratio(seconds, program.work[items])
        others &= ~items
    factor[others] = _ratio(rest_s, program.work[others])
    of_run = np.ones(len(program.duration))
    launching = program.launches >= 0
    of_run[program.launches[launching]] = factor[launching]
    return replace(
        program,
        work=_times(program.work, factor),
        after=_times(program.after, factor),
        duration=_times(program.duration, of_run),
    )


def _ratio(seconds: float, work: Array) -> float:
    spent = float(work.sum()) / 1e9
    return seconds / spent if spent else 1.0


def _times(nanoseconds: Array, factor: Array) -> Array:
    return np.asarray(np.rint(nanoseconds * factor).astype(np.int64))
