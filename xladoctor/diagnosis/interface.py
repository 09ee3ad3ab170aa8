"""The diagnosis, its findings, and everything else that reports show.

:class:`Diagnosis` is the JSON report, field by field; ``docs/json.md`` and the published schema
are made from it. Seconds and milliseconds are floats; a share is of ``TimeSpent.whole_s``, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from xladoctor.diagnosis.naming import fit
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.diagnosis.rule import About, BoundBy, Rule, Severity
from xladoctor.facts.parts import PartName

CostBasis = Literal["measured", "estimate", "bound", "least", "none"]
SavingBasis = Literal["estimate", "bound", "none"]


@dataclass(frozen=True, slots=True)
class Tool:
    """The program that made the report."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Location:
    """A line: the guilty one, or one that explains it.

    Attributes:
        file: path, relative to the program's working directory if it is below it.
        role: guilty, caller (the user's line that led into a library), made (where the tensor that
            changed was made), used (where it is first used), compiled (where the graph was cut
            and compiled), due (the barrier that a step should keep), loop (at the end of whose body
            a barrier belongs), closure (the function at the end of which a barrier belongs),
            collated (where batches are put together), launched (the call that runs it), or left
            (work that no read requested).
        source: text of the line as it ran, if known.
        span: columns of the expression that the finding is about, from 0, the end exclusive.
    """

    file: str
    line: int
    function: str | None
    role: Literal[
        "guilty",
        "caller",
        "made",
        "used",
        "compiled",
        "due",
        "loop",
        "closure",
        "collated",
        "launched",
        "left",
    ]
    source: str | None = None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall time that the finding is part of, in seconds and as a share of the whole.

    Attributes:
        basis: measured, estimate, bound (at most so much), least (at least so much: a part is not
            measured), or none if it is unknown.
    """

    seconds: float | None
    share: float | None
    basis: CostBasis


Do = Literal[
    "remove",
    "shorten",
    "make_asynchronous",
    "overlap",
    "merge_executions",
    "compile_once",
    "constant_cost",
]
What = Literal["read", "upload", "input", "save", "barrier", "cut", "compile", "tracing", "other"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a fix does.

    Attributes:
        do: ``remove`` (its time, its waits and the executions that it launches are gone),
            ``shorten`` (each call and what it launches take ``part`` less),
            ``make_asynchronous`` (it no longer waits), ``overlap`` (a thread of its own does it
            ahead of the loop), ``merge_executions`` (the barrier's graph runs as part of the next
            one), ``compile_once`` (the named compilations are gone), or ``constant_cost`` (each
            call, or all named compilations together, take ``to_ns``).
        what: calls (read, upload, input, save, barrier), a cut (graphs that an operator on the CPU
            cuts), compile, or Python's time: tracing and other.
        file, line: of the calls; None for all calls of this kind.
        part: share of the calls, or of the Python time, that the claim covers.
        to_ns: nanoseconds that remain.
        compilations: numbers of the compilations in their process.
    """

    do: Do
    what: What
    file: str | None = None
    line: int | None = None
    part: float = 1.0
    to_ns: float = 0.0
    compilations: list[int] = field(default_factory=list)


#: Share of the run, and of a step, that is negligible: two runs of a program differ by more.
NEXT_TO_NOTHING = 0.005


@dataclass(frozen=True, slots=True)
class Saving:
    """Wall time that a fix saves: seconds of the run, milliseconds a step, share of the whole.

    Attributes:
        basis: estimate (a replay of the timeline without what the fix removes), bound (at most
            what the finding costs), or none.
        now_ms: average step after warm-up, before the fix.
        after_ms: average step after warm-up, once this is fixed.
        limited_by: what most of a step is then spent on, as in ``verdict.limited_by``.
        remaining_s: what the fix saves once all findings before it are fixed; these add up.
        projected_s: what it saves in a run of ``Diagnosis.total_steps``.
        next_1000_s: what another thousand steps would lose without the fix; 0 if it is over.
        process: number of the process whose timeline was replayed.
        assumes: what the fix is assumed to do.
    """

    seconds: float | None
    per_step_ms: float | None
    share: float | None
    basis: SavingBasis
    now_ms: float | None = None
    after_ms: float | None = None
    limited_by: str | None = None
    remaining_s: float | None = None
    projected_s: float | None = None
    next_1000_s: float | None = None
    process: int | None = None
    assumes: list[Claim] = field(default_factory=list)

    @property
    def is_next_to_nothing(self) -> bool:
        """Whether neither the run nor a step after warm-up is known to get shorter noticeably."""
        of_step = 1.0 - self.after_ms / self.now_ms if self.now_ms and self.after_ms else 0.0
        return (
            self.basis == "estimate"
            and self.share is not None
            and max(self.share, of_step) < NEXT_TO_NOTHING
        )


NO_SAVING = Saving(None, None, None, "none")


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect: where it is, why it costs time, how much, and what to do.

    Attributes:
        severity_by_counts: the severity without regard to time: the same in each run of a program,
            on any machine. The gate uses it.
        subject: the operator or setting that it is about, which distinguishes findings of a rule
            on the same line; empty if there is only one.
        recurs: whether it keeps happening during a run, so that rates can be compared.
        compilations: numbers, in their process, of the compilations that it is about.
        place: if there are no locations: the program's label, or the function and the steps.
        about: what it judges. Findings about the run (settings, the capture) have no line, and not
            always a cost. Findings about the results mean that these are wrong, and come first.
        fingerprint: computed from the rule, the file, the function and the line's code, so that it
            stays the same if the line moves.
    """

    rule: str
    name: str
    severity: Severity
    severity_by_counts: Severity
    title: str
    locations: list[Location]
    count: int
    per_step: float | None
    processes: list[str]
    cost: Cost
    saving: Saving
    cause: dict[str, Any]
    consequences: list[str]
    message: str
    why: str
    fix: str
    example: str
    fingerprint: str
    subject: str = ""
    recurs: bool = True
    compilations: list[int] = field(default_factory=list)
    place: str | None = None
    about: About = "loop"


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A rule that could not be evaluated, and why.

    Attributes:
        failed: whether the rule itself failed; otherwise the evidence lacks what it needs.
    """

    rule: str
    reason: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that a comment or the configuration ignores; fields of the finding and its line."""

    rule: str
    file: str
    line: int
    reason: str
    fingerprint: str = ""
    function: str | None = None
    source: str | None = None
    count: int = 0
    per_step: float | None = None


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
    "peak_memory",
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
class TimeSpent:
    """Wall times: of the whole program, and of its loop.

    Attributes:
        total_s: from start to exit, if the evidence has it.
        device_s: the part of the waits (``read_s``, ``barrier_s``) in which the device worked.
        unexplained: parts in which at least a hundredth of the whole is neither device work nor
            explained by a finding, largest first.
    """

    total_s: float | None
    loop_s: float | None
    parts: TimeParts | None
    warmup_compile_s: float | None
    device_s: float | None = None
    explained: Explained | None = None
    unexplained: list[Unexplained] = field(default_factory=list)

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
class Steps:
    """The steps of the thread with the longest loop."""

    count: int
    warmup: int
    median_ms: float | None


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
class DeviceOp:
    """An operation of the program on a device: its self time in seconds, and as a share of all that
    the device ran. Operations with the same name and line count as one, whatever their modules.

    Attributes:
        module: the compiled module, if there is only one.
        op: the framework's operation that it comes from, if the compiled module has it; else the
            device's own name for it.
        file, line, function: the line that called it, if known.
    """

    module: str | None
    op: str
    count: int
    self_s: float
    share: float
    file: str | None = None
    line: int | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceScope:
    """What a device ran in a named scope: its time in seconds, and as a share of all that it ran.

    Attributes:
        scope: the enclosing scopes and its own name, outermost first, joined by " > ".
    """

    scope: str
    self_s: float
    share: float


CudaGraphs = Literal["used", "partly used", "not used", "recorded", "recorded anew"]


@dataclass(frozen=True, slots=True)
class Kernels:
    """How the kernels of a device were launched, in the steps of :class:`DeviceUse`.

    Attributes:
        cuda_graphs: whether they were parts of CUDA graphs (or HIP graphs): all, some or none;
            ``recorded``: graphs are made, but not launched; ``recorded anew``: they are still made
            in every other steady step or more often. None if the timeline lacks the calls that
            launched most of the kernels.
        count: all kernels, without copies.
        in_graphs: kernels in a graph.
        unknown: kernels whose launch is not in the timeline.
        graph_launches: calls that launched a graph.
        graphs_made: graphs that were made, by the whole process.
    """

    cuda_graphs: CudaGraphs | None
    count: int
    in_graphs: int
    unknown: int
    graph_launches: int
    graphs_made: int


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """What a device did in the timeline's steady steps (in all steps if none is steady, from its
    first operation to its last if there are no steps).

    Attributes:
        process: number of the process.
        device: number of the device in it.
        name: the name of its plane in the timeline.
        kind: CPU, GPU, TPU or other.
        steps: number of these steps; 0 without steps.
        busy: share of their time in which it ran anything.
        idle: what the host's thread did while it ran nothing, each as a share of that time; with
            ``busy`` these add up to 1.
        top_ops: the operations that took longest, in the whole timeline.
        top_scopes: the named scopes that took longest, if the program has any.
        kernels: how kernels were launched; None if the profiler does not record it.
    """

    process: str
    device: int
    name: str
    kind: str
    steps: int
    busy: float
    idle: dict[str, float]
    top_ops: list[DeviceOp]
    top_scopes: list[DeviceScope]
    kernels: Kernels | None = None


@dataclass(frozen=True, slots=True)
class LabelTime:
    """A label of the program in the timeline (``xp.Trace``, ``TraceAnnotation``); seconds.

    Attributes:
        path: the enclosing labels and its own name, outermost first, joined by " > ".
        count: how often the program was in it.
        host_s: host time in it.
        own_s: host time in it, outside of inner labels.
        launches: graphs launched in it.
        device_s: how long the device ran these.
        idle_s: how long the device was idle during it; None if no device is in the timeline.
    """

    path: str
    count: int
    host_s: float
    own_s: float
    launches: int
    device_s: float
    idle_s: float | None


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
            (captured by something else), ``text`` (reports or logs) or ``files`` (several of one
            program, named one by one).
        status: exit status of the program; None if ``signal`` ended it, or if it is unknown.
        frontend: the framework that was captured, by the name of its package.
        versions: of the framework's packages and of ``python``.
        script: its main script, relative to ``root``, or as it was named; the key of baselines.
        cwd: its working directory.
        root: the repository that ``cwd`` is in; if there is none, ``cwd`` itself.
        incomplete: what the capture lost, so that findings may be missing and counts too low.
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


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that a report shows; findings are ranked.

    Attributes:
        total_steps: length of the run that savings are projected to, if one was given.
        pack: all rules that were selected, by id; not part of the JSON report.
        pictures: data for formats that draw, if one was requested, and excerpts; not part of the
            JSON report.
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
    pack: Annotated[Mapping[str, Rule], Field(exclude=True)] = field(default_factory=dict)
    pictures: Annotated[Pictures | None, Field(exclude=True)] = None
