"""A timeline while it is read: what has been found in it, and the tables that its parts fill."""

from __future__ import annotations

from dataclasses import dataclass

from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns, ProcessRows
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
        log: the step log of the process; without one, what the timeline shows of one is added.
        rows: the tables of the process.
        steps: the loop's steps, if any are known, with their numbers in ``timeline_step``.
        of_steps: tables that have a row for each step, which are not added yet.
    """

    timeline: Timeline
    main: Line | None
    lines: list[Line]
    doing: dict[str, Intervals]
    devices: list[Device]
    log: Gathered
    rows: ProcessRows
    steps: Steps | None
    of_steps: list[tuple[str, Columns]]

    def step_of(self, instants: Times) -> Times:
        """The number of the step at each instant; -1 for none."""
        return step_of(self.steps, instants)
