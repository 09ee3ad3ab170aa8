"""The diagnosis, its findings, and everything else that reports show.

:class:`Diagnosis` is the JSON report, field by field; ``docs/json.md`` and the published schema
are made from it. Seconds and milliseconds are floats; a share is of ``TimeSpent.whole_s``, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from xladoctor.diagnosis.device_use import DeviceUse, LabelTime
from xladoctor.diagnosis.finding import Finding, Ignored, Location, NotChecked, SavingBasis
from xladoctor.diagnosis.memory_use import Memory
from xladoctor.diagnosis.naming import fit
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.diagnosis.pod import Pod
from xladoctor.diagnosis.rule import BoundBy, Rule
from xladoctor.diagnosis.sharding_use import DividedProgram
from xladoctor.diagnosis.tpu_graph import TpuGraph
from xladoctor.diagnosis.traits import Traits
from xladoctor.facts.parts import PartName


@dataclass(frozen=True, slots=True)
class Tool:
    """The program that made the report."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Consumer:
    """A line that contributes to a count.

    Attributes:
        value: its contribution, in the count's unit.
        times: how often it occurred in the whole run.
        what: the operator, the kind of read, or the cause of the compilations.
    """

    location: Location | None
    value: float
    times: int
    what: str


CountName = Literal[
    "compilations_after_warmup",
    "host_syncs_per_step",
    "fallbacks_per_step",
    "barriers_per_step",
    "step_ms",
    "cache_misses",
    "peak_memory",
    "live_growth_per_step",
    "hbm_share",
    "padding_share",
    "graphs_too_large",
    "resharded_bytes_per_step",
    "replicated_share",
    "sharding_changes",
]


@dataclass(frozen=True, slots=True)
class Count:
    """A number that a budget can limit, for the process and thread with the highest value.

    Attributes:
        value: None if it is unknown; if only a part is known, the value of that part, which is too
            low. Both have a ``reason``.
        consumers: the lines that contribute to it, largest first.
    """

    name: CountName
    value: float | None
    reason: str | None = None
    consumers: list[Consumer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What limits the program, in one word and in one sentence.

    Attributes:
        speedup: how many times as fast the loop is once all findings are fixed; None if no finding
            has a saving.
        speedup_basis: estimate (by replay) or bound (at most).
        limited_by: what most of a step is then spent on: as in ``bound_by``, or host (Python other
            than tracing).
    """

    bound_by: BoundBy
    text: str
    speedup: float | None = None
    speedup_basis: SavingBasis = "none"
    limited_by: str | None = None


@dataclass(frozen=True, slots=True)
class TimeParts:
    """Where the wall time went, on the thread with the longest loop.

    The parts do not overlap and add up to ``TimeSpent.whole_s``. All except the first and the last
    two are parts of the loop.

    Attributes:
        startup_s: before the loop: interpreter, imports, device, model and data.
        warmup_compile_s: compiling in the first launches of a call site, where it is expected.
        compile_s: compiling after that.
        read_s: blocked in reads of the device's values.
        barrier_s: in barriers, waiting for the device or running its work.
        collective_s: waiting in collectives on the host, for other processes.
        dispatch_s: handing graphs to the device, if a timeline distinguishes it from waiting.
        tracing_s: recording operations, if host samples distinguish it from other Python.
        python_s: other Python.
        unrecorded_s: time for which the timeline shows the devices but not the host.
        after_s: from the last iteration to the exit.
        capture_s: the capture's own work, in the loop and after the program's end.
    """

    startup_s: float = 0.0
    warmup_compile_s: float = 0.0
    compile_s: float = 0.0
    read_s: float = 0.0
    barrier_s: float = 0.0
    collective_s: float = 0.0
    input_s: float = 0.0
    upload_s: float = 0.0
    save_s: float = 0.0
    dispatch_s: float = 0.0
    tracing_s: float = 0.0
    python_s: float = 0.0
    unrecorded_s: float = 0.0
    after_s: float = 0.0
    capture_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LineTime:
    """A line, and the seconds spent at it; the shares of samples make them an estimate."""

    file: str
    line: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Time in a part that neither device work nor findings explain, and its hottest lines."""

    part: PartName
    seconds: float
    lines: list[LineTime] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Explained:
    """The whole time by what explains it.

    Attributes:
        device_s: waits in which the device worked, if a timeline shows it.
        overhead_s: start-up, time after the loop, and the capture.
        findings_s: time that findings explain.
        named_s: the rest, as far as its lines are known.
        share: share of the whole time that these four make up.
    """

    device_s: float
    overhead_s: float
    findings_s: float
    named_s: float
    share: float


@dataclass(frozen=True, slots=True)
class BeforeStep:
    """What a program did before its first step had ended.

    Attributes:
        what: import, backend (starting the device's), tracing (lowering included), compile, cache
            (reading compiled graphs from it), or other.
        package: the installed package that was imported.
        seconds: measured for imports, otherwise an estimate.
        file: of the program's line that it was spent at, if that is known.
        read_bytes: what the process read meanwhile, of files and whatever else, if that is much.
    """

    what: str
    package: str | None
    seconds: float
    file: str | None
    line: int | None
    read_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StartUp:
    """A program's time until its first step had ended or, without one, until its end.

    Attributes:
        stepped: whether a step ended.
        seen_s: the part of it that is known to have been spent as in ``spent`` or in less.
        spent: each that took at least a twentieth of it, largest first.
    """

    seconds: float
    stepped: bool
    seen_s: float
    spent: list[BeforeStep]


@dataclass(frozen=True, slots=True)
class TimeSpent:
    """Wall times: of the whole program, and of its loop.

    Attributes:
        total_s: from start to exit, if the evidence has it.
        device_s: the part of the waits (``read_s``, ``barrier_s``) in which the device worked.
        unexplained: parts in which at least a hundredth of the whole is neither device work nor
            explained by a finding, largest first.
        start_up: what happened until the end of the first step, if that was recorded.
    """

    total_s: float | None
    loop_s: float | None
    parts: TimeParts | None
    warmup_compile_s: float | None
    device_s: float | None = None
    explained: Explained | None = None
    unexplained: list[Unexplained] = field(default_factory=list)
    start_up: StartUp | None = None

    @property
    def whole_s(self) -> float:
        """The time that all shares refer to: the whole program, else its loop; 0 if unknown."""
        return self.total_s or self.loop_s or 0.0

    @property
    def base(self) -> str:
        """What :attr:`whole_s` is, in a word."""
        return "run" if self.total_s else "loop"

    @property
    def steady_s(self) -> float:
        """The loop without the compiling of warm-up; 0 without a loop."""
        if not self.loop_s:
            return 0.0
        return max(self.loop_s - (self.warmup_compile_s or 0.0), 1e-9)


@dataclass(frozen=True, slots=True)
class StepsAt:
    """The steps that end at a line; the median is that of steady ones."""

    file: str
    line: int
    count: int
    median_ms: float


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of the thread with the longest loop.

    Attributes:
        ends: the lines at which they end, most time first, if several take much of the time and
            differ in their steps, such as those of training and of evaluation; else none.
    """

    count: int
    warmup: int
    median_ms: float | None
    ends: list[StepsAt] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepGroup:
    """Steps that follow one another; the groups of a loop have about the same number each.

    Attributes:
        first: index of the first.
        count: how many.
        longest_ms: the longest of them.
        compile_ms: what compiling took in all of them.
    """

    first: int
    count: int
    longest_ms: float
    compile_ms: float


@dataclass(frozen=True, slots=True)
class RuleOutcomes:
    """The outcome of the rules that apply, each in one list; ``off`` is by configuration."""

    fired: list[str]
    clear: list[str]
    not_evaluated: list[str]
    off: list[str] = field(default_factory=list)

    def judged(self, name: str) -> bool:
        """Whether a name stands for any rules, and all of them were evaluated."""
        meant = [
            rule
            for rule in (*self.fired, *self.clear, *self.not_evaluated, *self.off)
            if fit(rule, name)
        ]
        return bool(meant) and {*self.fired, *self.clear}.issuperset(meant)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What was analyzed.

    Attributes:
        kind: ``run`` (a run directory), ``remote`` (timelines of profiler servers), ``timeline``
            (captured by something else), ``text`` (reports or logs), ``files`` (several of one
            program, named one by one), ``graphs`` (compiled for a TPU) or ``pod`` (of many hosts,
            each judged by itself first).
        status: exit status of the program; None if ``signal`` ended it, or if it is unknown.
        frontend: the framework that was captured, by the name of its package.
        versions: of the framework's packages and of ``python``.
        script: its main script, relative to ``root``, or as it was named; the key of baselines.
        cwd: its working directory.
        root: the repository that ``cwd`` is in; if there is none, ``cwd`` itself.
        incomplete: what the capture lost, so that findings may be missing and counts too low.
        running: whether the program had not ended yet.
        stopped_by: the option that ended the program, ``--timeout`` or ``--stop-after``, if it did.
    """

    kind: str
    path: str
    command: list[str] = field(default_factory=list)
    status: int | None = None
    signal: int | None = None
    processes: int = 0
    device: str | None = None
    devices: int = 0
    frontend: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    script: str | None = None
    cwd: str | None = None
    root: str | None = None
    incomplete: list[str] = field(default_factory=list)
    running: bool = False
    stopped_by: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that a report shows; findings are ranked.

    Attributes:
        total_steps: length of the run that savings are projected to, if one was given.
        tpu_graphs: graphs that were compiled for TPUs, without one.
        memory: what the program holds in the device's memory, where that is known.
        shardings: programs for several devices, most moving first; None without compiled ones.
        pod: processes whose steps were compared with each other, if there are several.
        pack: all rules that were selected, by id; not part of the JSON report.
        pictures: data for formats that draw, if one was requested, and excerpts; not part of the
            JSON report.
        traits: what comparisons go by; not part of the JSON report.
    """

    schema_version: int
    tool: Tool
    run: RunFacts
    verdict: Verdict
    time: TimeSpent
    steps: Steps | None
    devices: list[DeviceUse]
    counts: list[Count]
    findings: list[Finding]
    rules: RuleOutcomes
    not_checked: list[NotChecked]
    ignored: list[Ignored]
    warnings: list[str]
    total_steps: int | None = None
    labels: list[LabelTime] = field(default_factory=list)
    step_groups: list[StepGroup] = field(default_factory=list)
    tpu_graphs: list[TpuGraph] = field(default_factory=list)
    memory: Memory | None = None
    shardings: list[DividedProgram] | None = None
    pod: Pod | None = None
    pack: Annotated[Mapping[str, Rule], Field(exclude=True)] = field(default_factory=dict)
    pictures: Annotated[Pictures | None, Field(exclude=True)] = None
    traits: Annotated[Traits, Field(exclude=True)] = field(default_factory=Traits)
