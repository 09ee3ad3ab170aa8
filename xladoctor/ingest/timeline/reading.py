"""A timeline while it is read: what has been found in it, and the tables that its parts fill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import Intervals, Times
from xladoctor.ingest.timeline.steps import Steps
from xladoctor.ingest.xplane.space import Line


@dataclass(frozen=True, slots=True)
class Reading:
    """What most tables of a timeline are made from.

    Attributes:
        main: the loop's own thread, if there is a loop.
        lines: the threads of the loop, its own first.
        doing: when these threads did each activity, and when that is not recorded.
        rows: those of the process, with what its other files say.
        steps: the loop's steps, if any are known.
        numbers: the number of each step in ``timeline_step``.
    """

    timeline: Timeline
    main: Line | None
    lines: list[Line]
    doing: dict[str, Intervals]
    devices: list[Device]
    rows: ProcessRows
    steps: Steps | None = None
    numbers: Times | None = None

    def step_of(self, instants: Times) -> Times:
        """The number of the step at each instant; -1 for none."""
        return step_of(self.steps, self.numbers, instants)


def step_of(steps: Steps | None, numbers: Times | None, instants: Times) -> Times:
    """The number of the step at each instant; -1 for none."""
    if steps is None or numbers is None:
        return np.full(len(instants), -1, np.int64)
    at = np.searchsorted(steps.begin, instants, side="right") - 1
    inside = (at >= 0) & (instants < steps.end[np.maximum(at, 0)])
    return np.where(inside, numbers[np.maximum(at, 0)], -1)
