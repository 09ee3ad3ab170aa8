"""A job's processes as reports show them: who is alike, who is not, and who waits for whom."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PodProcess:
    """A process of a job, compared with the others.

    Attributes:
        process: its number in this evidence.
        name: its host, with its rank where a host has several.
        path: its evidence, for an analysis of it alone; None if that is not a file of its own.
        slice: the slice that its devices are in, where that is known.
        steps: how many of its steps were compared.
        parts: milliseconds a step by part, as in ``Pod.parts``: of its device that waits least.
        group: the group that it is in, by its place in ``Pod.groups``.
        offset_ms: how far its clock was ahead.
        error_ms: what that may be wrong by; None if that is unknown.
    """

    process: str
    name: str
    path: str | None
    rank: int | None
    slice: int | None
    steps: int
    parts: dict[str, float]
    group: int
    offset_ms: float
    error_ms: float | None


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Processes whose steps are alike.

    Attributes:
        processes: their names.
        parts: milliseconds a step by part, on average.
        differs: the parts in which they differ from most, largest difference first; empty for those
            that are like most.
        slice: the slice, one of several, whose processes these are, all of them; else None.
    """

    processes: list[str]
    parts: dict[str, float]
    differs: list[str] = field(default_factory=list)
    slice: int | None = None


def name_of_slice(number: int, processes: int) -> str:
    """Such as ``slice 2 (64 processes)``."""
    return f"slice {number} ({processes} processes)"


@dataclass(frozen=True, slots=True)
class Pod:
    """A job of several processes.

    Attributes:
        summary: who holds the others back and with which part of a step, in a sentence.
        parts: the parts of a step, in order: what the device or its host does until the device can
            go on, then ``compute``, ``exchange`` (what collectives themselves take), ``waiting``
            (for others, within them) and ``idle``.
        step_ms: the mean step.
        groups: groups of processes that are alike, most first.
        processes: all that were compared.
        of: how many the job has, as far as is known.
        error_ms: the largest error of a clock; None where not all clocks could be compared.
        left_out: those that were not compared, each with the reason.
        matched_by_time: whether steps have no numbers that mean the same in all timelines, so that
            those that ended at about the same time were taken for one.
    """

    summary: str
    parts: list[str]
    step_ms: float
    groups: list[PodGroup]
    processes: list[PodProcess]
    of: int
    error_ms: float | None = None
    left_out: list[str] = field(default_factory=list)
    matched_by_time: bool = False
