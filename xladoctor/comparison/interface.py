"""Two runs side by side: A, what it was, and B, what it is now.

:class:`Comparison` is the JSON output of ``compare``, field by field. Milliseconds, shares and
ratios are floats; a relative change is B's value over A's, less 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from xladoctor.diagnosis.finding import Location, NotChecked
from xladoctor.diagnosis.interface import CountName, RunFacts, Steps, Tool
from xladoctor.diagnosis.rule import Severity
from xladoctor.diagnosis.sharding_changes import ShardingChange
from xladoctor.diagnosis.step_samples import ENOUGH
from xladoctor.diagnosis.tpu_graph import TpuGraph
from xladoctor.frontends.vocabulary import vocabularies

SCHEMA_VERSION = 2
#: Independent steps that a run must be worth; with fewer, intervals would be too narrow.
LEAST = ENOUGH
#: Differences between two runs that make comparing them, or their times, misleading.
Ground = str
#: Packages whose versions differ are grounds of their own.
PACKAGES = tuple(
    dict.fromkeys(package for each in vocabularies().values() for package in each.requires)
)
GROUNDS: tuple[Ground, ...] = (
    "script",
    "framework",
    "device",
    "devices",
    "processes",
    "host",
    *PACKAGES,
    "python",
    "xladoctor",
    "settings",
    "shapes",
    "evidence",
    "profiler",
)
#: What is good to know, but leaves times comparable.
Remark = Literal["arguments", "capture", "ending", "steps", "unknown"]
State = Literal["new", "worse", "fixed", "better", "same", "unknown"]
Direction = Literal["worse", "better", "same", "unknown"]
TimeName = Literal["loop", "compiling", "average_step"]
StepVerdict = Literal["slower", "faster", "no_difference", "too_few", "not_judged", "unknown"]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a comparison describes it.

    Attributes:
        complete: whether the program ended by itself, without an error.
    """

    run: RunFacts
    host: str | None
    python: str | None
    captured_by: str | None
    complete: bool
    steps: Steps | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the runs.

    Attributes:
        what: its name, for ``--despite``.
        a, b: the values, in words; None if unknown.
        forbids: what cannot be judged because of it: everything (the runs are of different
            programs), only times, or nothing.
        accepted: whether the user chose to judge despite it.
    """

    what: Ground | Remark
    a: str | None
    b: str | None
    forbids: Literal["everything", "times", "nothing"]
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A finding in one of the runs; fields as in the report's findings."""

    severity: Severity
    severity_by_counts: Severity
    count: int
    per_step: float | None
    location: Location | None


@dataclass(frozen=True, slots=True)
class FindingChange:
    """A finding, and what happened to it from A to B.

    Attributes:
        state: ``unknown`` if one of the runs does not show it: it is neither new nor fixed.
        reason: why, or what got worse or better, in a sentence without the full stop.
        judged_by: whether it is judged by counts, which are the same in each run of a program, or
            by times, which are not: such a finding never makes B worse.
        fails: whether it makes the command fail.
    """

    state: State
    rule: str
    name: str
    title: str
    fingerprint: str
    judged_by: Literal["counts", "time"]
    reason: str
    fails: bool
    a: Occurrence | None
    b: Occurrence | None

    @property
    def severity(self) -> Severity:
        """The one that it is judged by, in B, or in A if it is gone."""
        seen = self.b or self.a
        assert seen is not None  # noqa: S101  # one of the runs has it
        return seen.severity_by_counts if self.judged_by == "counts" else seen.severity


@dataclass(frozen=True, slots=True)
class CountChange:
    """A count in both runs; None, with the reason, if a run does not show it."""

    name: CountName
    a: float | None
    b: float | None
    change: float | None
    direction: Direction
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """The relative change of the median step, and its 95% interval."""

    change: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class StepTime:
    """The steps after warm-up of the thread with the longest loop.

    Attributes:
        a_ms, b_ms: their medians.
        a_samples, b_samples: how many steps these come from.
        a_worth, b_worth: how many independent samples these are worth, as successive steps are
            correlated.
        interval: None if there are too few steps.
        verdict: slower or faster if the whole interval lies beyond the floor; too_few steps to
            tell; not_judged if the runs' times are not comparable; unknown without steps.
        floor: relative change below which the runs count as equal.
        statement: the same in a sentence.
        fails: whether it makes the command fail (``--max-slowdown``).
    """

    a_ms: float | None
    b_ms: float | None
    a_samples: int
    b_samples: int
    a_worth: int
    b_worth: int
    interval: Interval | None
    verdict: StepVerdict
    floor: float
    statement: str
    fails: bool = False


@dataclass(frozen=True, slots=True)
class TimeChange:
    """Wall time in both runs, in seconds.

    Attributes:
        name: the loop; compiling in it, warm-up included; or the average step, compiling included.
    """

    name: TimeName
    a_s: float
    b_s: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """In one word and in one sentence; ``unclear`` if there is too little evidence."""

    outcome: Literal["worse", "same", "better", "unclear"]
    text: str


@dataclass(frozen=True, slots=True)
class Demand:
    """What makes the command fail, and which differences to overlook.

    Attributes:
        fail_on: lowest severity by counts at which a new or worse finding fails; or ``never``.
        max_slowdown: allowed relative change of the step's time; None for any.
        despite: differences that do not stop the comparison.
    """

    fail_on: Literal["error", "warning", "info", "never"] = "warning"
    max_slowdown: float | None = None
    despite: frozenset[Ground] = frozenset()


@dataclass(frozen=True, slots=True)
class TpuChange:
    """A graph that was compiled for the same TPU in both runs."""

    a: TpuGraph
    b: TpuGraph


@dataclass(frozen=True, slots=True)
class HeldChange:
    """What takes more or less of a device's memory, as in ``HeldMemory``; 0 where it takes none."""

    role: str
    what: str
    location: Location | None
    a_bytes: int
    b_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A program of both runs at its peak, and what differs in it, most first."""

    name: str
    a_bytes: int
    b_bytes: int
    held: list[HeldChange]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that the output shows.

    Attributes:
        not_judged: rules by counts that were judged in A but could not be in B: they may have
            new findings.
        status: exit status of the command: 0, 1 if something fails, 3 if what was asked for
            cannot be judged.
        times: what the loop took, as far as both runs have that; never judged.
        tpu_graphs: what the compiler of a TPU decided, where both runs have that.
        memory: programs at their peaks, where both runs have that; never judged.
        shardings: what differs in programs for several devices; never judged.
    """

    schema_version: int
    tool: Tool
    a: RunSummary
    b: RunSummary
    verdict: Verdict
    differences: list[Difference]
    findings: list[FindingChange]
    not_judged: list[NotChecked]
    counts: list[CountChange]
    step: StepTime
    status: int
    warnings: list[str] = field(default_factory=list)
    tpu_graphs: list[TpuChange] = field(default_factory=list)
    times: list[TimeChange] = field(default_factory=list)
    memory: list[MemoryChange] = field(default_factory=list)
    shardings: list[ShardingChange] = field(default_factory=list)
