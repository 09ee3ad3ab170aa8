"""What a page draws of a run beside its diagnosis: made only for formats that draw.

Instants are nanoseconds from the beginning of what is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StepSeries:
    """The steps of the thread whose loop took longest, several to a row where there are very many.

    Attributes:
        first: number of the first step of each row.
        counts: how many steps each row stands for.
        period: how many steps make one iteration.
        parts: microseconds of a step in the mean of a row, by the names of ``PartName``; their sum
            is that of the step.
        longest: microseconds of the longest step of the row, as far as its steps were told apart.
        compilations: graphs that were compiled in the row.
        shared: whether dispatch and tracing are told apart by their share in the whole loop.
        merged_from: the step from which the capture itself kept several together.
    """

    first: list[int]
    counts: list[int]
    period: int
    parts: dict[str, list[int]]
    longest: list[int]
    compilations: list[int]
    shared: bool = False
    merged_from: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessStep:
    """A step of one loop after warm-up, on average.

    Attributes:
        name: the process, and its rank, host and thread where these tell loops apart.
        steps: how many there were.
        seconds: of a step.
        parts: seconds of a step by the names of ``PartName``.
    """

    name: str
    steps: int
    seconds: float
    parts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a lane; ``kind`` is a part of the time, gap, busy, label or claim."""

    at_ns: int
    duration_ns: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Lane:
    """A thread, a device, the program's labels of one depth, or what a finding claims.

    Attributes:
        finding: fingerprint of the finding, of a lane of claims.
    """

    name: str
    spans: list[Span]
    finding: str | None = None


@dataclass(frozen=True, slots=True)
class StepPicture:
    """A step of the timeline, thread by thread.

    Attributes:
        titles: why it was chosen: a typical step, the slowest, the first that compiled.
        left_out: what is not drawn, in a sentence.
    """

    titles: list[str]
    step: int
    duration_ns: int
    lanes: list[Lane]
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Pictures:
    """All that is drawn.

    Attributes:
        processes: the loops of all processes, where there are several.
        excerpts: lines around a line of a finding, each with its number, by ``file:line`` as the
            diagnosis has these.
        compilations, sites: rows of ``explained_compilation`` and ``compiled_site``.
        compiled: how many compilations there are, of which these rows may be the first.
        differences: the last two graphs of a finding about compilations, by its fingerprint: each a
            ``causes.difference.Difference``, whose import needs what may be missing.
        gaps: for each device and reason, how often and how long it ran nothing, in seconds.
        settings: rows of ``environment``.
    """

    steps: StepSeries | None = None
    processes: list[ProcessStep] = field(default_factory=list)
    shown: list[StepPicture] = field(default_factory=list)
    excerpts: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    compilations: list[Row] = field(default_factory=list)
    sites: list[Row] = field(default_factory=list)
    compiled: int = 0
    differences: dict[str, Any] = field(default_factory=dict)
    gaps: list[Row] = field(default_factory=list)
    settings: list[Row] = field(default_factory=list)
