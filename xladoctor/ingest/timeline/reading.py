"""A timeline while it is read: what has been found in it, and the tables that its parts fill."""

from __future__ import annotations

from dataclasses import dataclass

from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.devices import Device
from xladoctor.ingest.timeline.intervals import Intervals, Times
from xladoctor.ingest.timeline.steps import Steps, step_of
from xladoctor.ingest.xplane.space import Line


@dataclass(frozen=True, slots=True)
class Reading:
    """What most tables of a timeline are made from.

    Attributes:
        main: the loop's own thread, if there is a loop.
        lines: the threads of the loop, its own first.
        doing: when these threads did each activity, and when that is not recorded.
        rows: those of the process, with what its other files say.
        steps: the loop's steps, if any are known, with their numbers in ``timeline_step``.
    """

    timeline: Timeline
    main: Line | None
    lines: list[Line]
    doing: dict[str, Intervals]
    devices: list[Device]
    rows: ProcessRows
    steps: Steps | None

    def step_of(self, instants: Times) -> Times:
        """The number of the step at each instant; -1 for none."""
        return step_of(self.steps, instants)
