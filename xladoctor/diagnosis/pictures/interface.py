"""The data that a page draws besides the diagnosis: made only for formats that draw.

Instants are nanoseconds from the beginning of the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xladoctor.causes.graph_difference import Difference
from xladoctor.evidence.row import Row


@dataclass(frozen=True, slots=True)
class StepSeries:
    """The steps of the thread with the longest loop; if there are very many, several per row.

    Attributes:
        first: number of the first step of each row.
        counts: number of steps in each row.
        parts: microseconds per step, averaged over a row, by the names of ``PartName``; they add up
            to the step.
        longest: microseconds of the longest step of the row, if its steps are recorded separately.
        compilations: graphs compiled in the row.
        shared: whether dispatch and tracing are split by their shares in the whole loop.
        merged_from: the step from which the capture itself merged several into one record.
    """

    first: list[int]
    counts: list[int]
    parts: dict[str, list[int]]
    longest: list[int]
    compilations: list[int]
    shared: bool = False
    merged_from: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessStep:
    """A step of one loop after warm-up, on average.

    Attributes:
        name: the process, with its rank, host and thread if these distinguish loops.
        steps: number of steps.
        seconds: seconds per step.
        parts: seconds per step by the names of ``PartName``.
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
        finding: for a lane of claims, the fingerprint of the finding.
    """

    name: str
    spans: list[Span]
    finding: str | None = None


@dataclass(frozen=True, slots=True)
class StepPicture:
    """A step of the timeline, thread by thread.

    Attributes:
        titles: why it was chosen: a typical step, the slowest, the first that compiled.
        step: its number, as in ``StepSeries``.
        part: which of the step's barriers it ends with, if a step has several.
        left_out: what is not drawn, in a sentence.
    """

    titles: list[str]
    step: int
    duration_ns: int
    lanes: list[Lane]
    left_out: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True)
class Pictures:
    """All that is drawn.

    Attributes:
        drawn: whether all of it was made; else only the excerpts.
        processes: the loops of all processes, where there are several.
        excerpts: lines around a line of a finding, each with its number, by ``file:line`` as the
            diagnosis has these.
        compilations, sites: rows of ``explained_compilation`` and ``compiled_site``.
        compiled: the number of compilations; the rows may only have the first of them.
        differences: by fingerprint of a finding about compilations, its last two graphs.
        gaps: for each device and reason, how often and how long it ran nothing, in seconds.
        settings: rows of ``environment``.
    """

    drawn: bool = False
    steps: StepSeries | None = None
    processes: list[ProcessStep] = field(default_factory=list)
    shown: list[StepPicture] = field(default_factory=list)
    excerpts: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    compilations: list[Row] = field(default_factory=list)
    sites: list[Row] = field(default_factory=list)
    compiled: int = 0
    differences: dict[str, Difference] = field(default_factory=dict)
    gaps: list[Row] = field(default_factory=list)
    settings: list[Row] = field(default_factory=list)
