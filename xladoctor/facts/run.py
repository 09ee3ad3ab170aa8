"""What a run leaves behind apart from its timeline: processes, metrics, the step log."""

from typing import Annotated

from xladoctor.facts.calls import DataWait, HostSync, StateSave, Upload
from xladoctor.facts.timeline import CaptureWindow
from xladoctor.recording.bootstrap._xladoctor.facts import (
    ONLY_RECORDED,
    Count,
    Duration,
    Fact,
    Identity,
    Instant,
    Kind,
    Names,
    NetDuration,
    Number,
    Position,
    Recorded,
    Site,
    Size,
    ThreadId,
    derived,
)

Rank = Annotated[int, Kind("INTEGER", -(2**31), 2**31 - 1)]
Work = Annotated[float, Kind("DOUBLE", 0)]
Lifetime = Annotated[int, Kind("BIGINT", 0, 2**62)]  # ns since a thread began


class _CallSites(Fact, source="call_sites.json"): ...


class _StepLog(Fact, source="steps.jsonl"): ...


class _Process(Fact, source="process.json"): ...


class PythonFolders(Fact):
    """Where the program's Python keeps its own modules and installed packages."""

    standard: tuple[str, ...]
    installed: tuple[str, ...]


class ModulesFile(Fact):
    """A file with compiled modules, and how many compilations there had been by then."""

    file: str
    compilations: Size
    bytes: Size | None = None
    stop_ns: Duration | None = None
    numbered: Annotated[bool, "whether the number of a module is that of its compilation"] = False


class Process(_Process, example="SELECT process, rank, device_kind, ended FROM process"):
    """A captured process."""

    pid: Annotated[Identity, "process id"]
    rank: Annotated[Rank | None, "rank in a distributed job, if it has one"] = None
    world_size: Annotated[Size | None, "processes of that job, where it is known"] = None
    slice: Annotated[
        Number | None, "slice of a pod that its devices are in, where there are several"
    ] = None
    host: Annotated[str | None, "name of the machine"] = None
    processors: Annotated[Size | None, "processors that the process may use"] = None
    frontend: Annotated[str, "framework that was captured"]
    device_kind: Annotated[str, "kind of the devices: CPU, TPU, NEURON, CUDA"] = derived()
    devices: Annotated[Names, "devices that the process sees"]
    accelerators: Annotated[
        tuple[str, ...] | None, "kinds that the machine has and the framework can drive, if known"
    ] = None
    ended: Annotated[bool, "whether the capture ended normally"]
    stopped: Annotated[
        bool, "whether xladoctor ended the program, as --timeout or --stop-after asks"
    ] = derived()
    running: Annotated[bool, "whether it still ran when this was read"] = derived()
    main: Annotated[str | None, "path of the main script"] = None
    cwd: Annotated[str | None, "working directory"] = None
    began_ns: Annotated[Instant, "when the framework was imported"]
    exit_ns: Annotated[
        Instant | None, "when it had ended and the capture began to write the rest"
    ] = None
    ended_ns: Annotated[Instant, "when the process was last heard of"]
    uncaught: Annotated[
        str | None, "uncaught exception that ended it, if any: its type, and the program's line"
    ] = None
    parent: Annotated[Identity | None, ONLY_RECORDED, "process id of its parent"] = None
    argv: Annotated[tuple[str, ...], ONLY_RECORDED] = ()
    used_device: Annotated[bool, ONLY_RECORDED]
    versions: Annotated[dict[str, str], ONLY_RECORDED, "versions of packages"]
    folders: Annotated[PythonFolders, ONLY_RECORDED]
    settings: Annotated[dict[str, str], ONLY_RECORDED, "environment variables"]
    settings_lines: Annotated[
        dict[str, tuple[str, Number, str]], ONLY_RECORDED, "of those that the program set"
    ]
    no_analysis_log: Annotated[str | None, ONLY_RECORDED, "why there is none"] = None
    windows: Annotated[tuple[CaptureWindow, ...], ONLY_RECORDED] = ()
    modules: Annotated[tuple[ModulesFile, ...], ONLY_RECORDED] = ()
    modules_too_large: Annotated[bool, ONLY_RECORDED, "whether some are left out"] = False
    no_graphs: Annotated[
        str | None, "why no graphs were kept as they were before optimization; NULL if they were"
    ] = "the run was made by a version of xladoctor that kept none"
    graphs_left_out: Annotated[Size, "how many of these were left out for --graph-bytes"] = 0
    files: Annotated[
        dict[str, Size],
        ONLY_RECORDED,
        "sizes in bytes of its files when it ended, by their paths in the run directory",
    ] = {}  # noqa: RUF012 - never changed
    missing: Annotated[
        dict[str, str],
        ONLY_RECORDED,
        "hooks of the capture that its framework has no place for, each with the reason",
    ] = {}  # noqa: RUF012 - never changed


class Version(_Process, example="SELECT package, version FROM version WHERE package = 'python'"):
    """A package of a captured process."""

    package: Annotated[str, "its name; python for the interpreter"]
    version: Annotated[str, "its version"]


class CaptureFault(Fact, source="faults.log", example="SELECT text, log FROM capture_fault"):
    """A fault of the capture itself, which switched it off."""

    text: Annotated[str, "what it was"]
    log: Annotated[str, "path of the file with the details"]


class OtherName(
    Fact, source="python.log", example="SELECT name, file, line FROM other_name ORDER BY line"
):
    """A line of the program's files that uses a name of the package that its framework replaced."""

    name: Annotated[str, "the name in full; of an import, the package"]
    file: Annotated[str, "the line's file"]
    line: Annotated[Number, "the line"]
    function: Annotated[str, "function that the line is in"]


class Environment(_Process, example="SELECT name, value, set_by FROM environment"):
    """User settings that change how XLA works."""

    name: Annotated[str, "environment variable"]
    value: Annotated[str, "its value"]
    set_by: Annotated[str, "environment (before the program started) or program"]
    file: Annotated[str, "file of the line that set it, if the program did"]
    line: Annotated[Number, "that line"]
    function: Annotated[str, "function that the line is in"]


class TriedPatch(
    Fact,
    process=False,
    source="fixes.json",
    example="SELECT rule, title, outcome, times_as_fast FROM tried_patch",
):
    """A patch of ``xladoctor fix --verify``, and what came of it."""

    rule: Annotated[str, "rule of the finding that it is for"]
    fingerprint: Annotated[str, "fingerprint of that finding"]
    kind: Annotated[str, "kind of fix"]
    title: Annotated[str, "what it does"]
    outcome: Annotated[str, "holds, helps less than predicted, does not help, …"]
    digest: Annotated[str | None, "digest of the file and of what the patch changes"] = None
    predicted_s: Annotated[float | None, "seconds of the run that it was predicted to save"] = None
    before_s: Annotated[float | None, "seconds of the loop without it, median"] = None
    after_s: Annotated[float | None, "seconds of the loop with it, median"] = None
    times_as_fast: Annotated[float | None, "how many times as fast the loop is with it"] = None
    least: Annotated[float | None, "lower end of the 95 % interval of that"] = None


class Metric(
    Fact,
    source="metrics.txt",
    example="SELECT name, samples, accumulator, unit FROM metric ORDER BY accumulator DESC",
):
    """A metric of the last report."""

    name: Annotated[str, "name of the metric"]
    unit: Annotated[str, "ns, bytes or none"]
    samples: Annotated[int, "number of samples"]
    since: Annotated[int, "samples since the report before it, where a text has several"]
    accumulator: Annotated[float, "sum of the samples, in the unit"]
    p50: Annotated[float, "median of the retained samples, in the unit"]
    p99: Annotated[float, "the largest but for one in a hundred of them, in the unit"]
    growth: Annotated[float, "what was added in a second when the report was made, in the unit"]


class Counter(
    Fact,
    source="metrics.txt",
    files=("steps.jsonl", "metrics.txt"),
    example="SELECT name, value FROM counter ORDER BY value DESC LIMIT 10",
):
    """A counter of the last report."""

    position: Position = derived()
    name: Annotated[str, "name of the counter"]
    value: Annotated[int, "its value"]


class Step(
    Fact,
    event="step",
    source="steps.jsonl, else the timeline",
    files=("steps.jsonl",),
    example="SELECT index, duration_ns / 1e6 AS ms, compilations FROM step WHERE NOT tail",
):
    """What a thread did between two barriers that launched work."""

    thread: ThreadId | None
    main: Annotated[bool, "whether it is the main thread"] = False
    tail: Annotated[bool, "whether it is the time after the last barrier, not a step"] = derived()
    index: Annotated[Number, "number of the barrier on its thread, from 0"]
    barriers: Annotated[
        Size,
        Recorded("steps"),
        "barriers that this row covers (1, or more in very long runs)",
    ] = 0
    ordinal: Annotated[int, "barriers seen before at the same call site on this thread"] = derived()
    begin_ns: Annotated[Instant, "end of the previous barrier"] = derived()
    end_ns: Annotated[Instant, "end of this one"]
    duration_ns: Annotated[Duration, "time between, without the capture's own work"]
    compile_ns: Annotated[Duration, "spent compiling"] = 0
    read_ns: Annotated[Duration, "blocked in reads of device values, compilation not counted"] = (
        derived()
    )
    input_ns: Annotated[Duration, "waiting for the next batch"] = derived()
    barrier_ns: Annotated[
        Duration, "in the barrier (dispatch, waiting for the device), without compilation"
    ] = 0
    upload_ns: Annotated[Duration, "sending tensors to the device"] = derived()
    save_ns: Annotated[Duration, "saving checkpoints"] = derived()
    capture_ns: Annotated[Duration, "spent by the capture since the previous barrier"] = 0
    executions: Annotated[Size, "graphs that the barrier launched"] = 0
    launches: Annotated[Size, "graphs that reads launched"] = 0
    compilations: Annotated[Size, "graphs compiled"] = 0
    optimizer_steps: Annotated[int, "updates of the optimizer that stepped most"] = derived()
    log_offset: Annotated[Size, Recorded("log"), "size of the analysis log at the end"] = 0
    traced: Annotated[bool, "inside the timeline's window"] = False
    probed: Annotated[bool, "slowed by the search for fallbacks; left out of timings"] = False
    site: Site = None
    reads: Annotated[tuple[HostSync, ...], ONLY_RECORDED] = ()
    uploads: Annotated[tuple[Upload, ...], ONLY_RECORDED] = ()
    saves: Annotated[tuple[StateSave, ...], ONLY_RECORDED] = ()
    input: Annotated[DataWait | None, ONLY_RECORDED] = None
    optimizers: Annotated[
        tuple[tuple[Size, Size], ...],
        ONLY_RECORDED,
        "number of each that stepped, and how often",
    ] = ()
    counters: Annotated[
        dict[str, Count], ONLY_RECORDED, "what the framework's counters grew by"
    ] = {}  # noqa: RUF012 - never changed
    fallbacks: Annotated[dict[str, Count], ONLY_RECORDED, "and those of operators"] = {}  # noqa: RUF012


class Tail(Step, event="tail"):
    """What a thread did after its last barrier, until the program ended."""


class CutStep(Step, event="cut"):
    """A part of a step: it ended in a read that launched work, in a program without barriers."""


class Cut(
    Fact,
    source="steps.jsonl, else the timeline",
    files=("steps.jsonl",),
    example="SELECT step, ended_by, duration_ns, launches FROM cut",
):
    """What a thread did from one launch of work to the next, in steps in which reads launched
    some; long steps are also cut elsewhere.
    """

    thread: ThreadId
    main: Annotated[bool, "whether it is the main thread"]
    step: Annotated[Number, "index of the step that it is a part of"]
    ended_by: Annotated[str, "read, barrier or end; a long step is also cut without a launch"]
    begin_ns: Annotated[Instant, "its start"]
    end_ns: Annotated[Instant, "its end"]
    duration_ns: Annotated[Duration, "time between, without the capture's own work"]
    compile_ns: Annotated[Duration, "spent compiling"]
    read_ns: Annotated[Duration, "blocked in reads of device values, compilation not counted"]
    input_ns: Annotated[Duration, "waiting for the next batch"]
    barrier_ns: Annotated[Duration, "in the barrier, without compilation"]
    upload_ns: Annotated[Duration, "sending tensors to the device"]
    save_ns: Annotated[Duration, "saving checkpoints"]
    launches: Annotated[int, "graphs that were launched"]
    compilations: Annotated[int, "graphs compiled"]
    optimizer_steps: Annotated[int, "updates of the optimizer that stepped most"]
    optimizers: Annotated[int, "optimizers that stepped"]
    site: Site


class EnclosingLoop(
    _CallSites,
    listed=True,
    example="SELECT line, loop_file, first_line FROM enclosing_loop WHERE depth = 0",
):
    """A loop of the program around a call site that waited for the device, sent to it or
    updated parameters.
    """

    file: Annotated[str, "path of the call site"] = derived()
    line: Annotated[Number, "its line"] = derived()
    via: Annotated[str, "function of the framework that it called, if any"] = derived()
    depth: Annotated[Number, "0 for the innermost loop"] = derived()
    loop_file: Annotated[str, "path of the file with the loop"]
    first_line: Annotated[Number, "line of its for or while"]
    last_line: Annotated[Number, "last line of its body"]
    loop_function: Annotated[str, "function that the loop is in"]


class ProcessorUse(
    Fact,
    source="processor.jsonl",
    listed=True,
    example="SELECT thread, max(wait_ns) AS waited_ns FROM processor_use GROUP BY thread",
):
    """What a thread of the loop had of the processors, by then."""

    thread: ThreadId
    at_ns: Annotated[Instant, "when"]
    run_ns: Annotated[Lifetime, "how long it had run since it began"]
    wait_ns: Annotated[Lifetime, "how long it had waited for a processor, ready to run"]


class JudgedPart(
    Fact,
    process=False,
    source="derived",
    example="SELECT (end_ns - begin_ns) / 1e9 AS seconds FROM judged_part",
):
    """The part of the run that is judged, such as the block of an expectation; without a row,
    all of it.
    """

    begin_ns: Annotated[Instant, "its start"]
    end_ns: Annotated[Instant, "its end"]


class StepPeriod(_StepLog, example="SELECT process, thread, barriers FROM step_period"):
    """How many barriers make one iteration."""

    thread: ThreadId
    barriers: Annotated[int, "smallest period of the sequence of barrier call sites"]


class Compilation(
    Fact,
    source="analysis log, step log, timeline",
    files=("steps.jsonl", "analysis*.log"),
    example="SELECT index, file, line, duration_ns FROM compilation ORDER BY duration_ns DESC",
):
    """One compilation."""

    thread: Annotated[int, "operating-system id of the thread, where known"]
    index: Annotated[Number, "number of the compilation in its process, from 0"]
    step: Annotated[Number, "barrier index that it happened before, where known"]
    ordinal: Annotated[int, "launches from the same call site before it"]
    launches: Annotated[int, "launches from the same call site in all, where known"]
    graph_hash: Annotated[str, "hash of the graph, as in the timeline"]
    cause: Annotated[str, "the log's sentence; jit(name) where the framework compiles functions"]
    inputs: Annotated[int, "inputs of the graph"]
    outputs: Annotated[int, "outputs of the graph"]
    memory_bytes: Annotated[int, "device memory it takes with its inputs and outputs, where known"]
    callbacks: Annotated[int, "calls from the graph to the host, where known"]
    cached: Annotated[bool, "whether its code came from a cache on disk, where known"]
    compile_id: Annotated[str, "number that the compiler gave it, as in compiled_part, where known"]
    end_ns: Annotated[Instant, "when it ended, where known"]
    duration_ns: Annotated[Duration, "how long it took, where known"]
    callers: Annotated[
        str, "lines of the program that led to the named one, nearest first, where known"
    ]
    site: Site


class Launch(
    _CallSites,
    listed=True,
    example="SELECT file, line, count FROM launch WHERE steps = 0 ORDER BY count DESC",
):
    """A call site that launched graphs, in frameworks without barriers."""

    count: Annotated[Size, "how often"]
    work: Annotated[Work, "operations and bytes of the heaviest of its graphs"]
    steps: Annotated[Size, "how often a step ended with it"]
    operations: Annotated[
        bool, "whether all were single operations of the framework, where that is known"
    ] = derived()
    parts: Annotated[
        int, "compiled parts of functions that it ran, where functions are compiled in parts"
    ] = derived()
    site: Site


class ReadOrigin(
    _CallSites,
    listed=True,
    example="SELECT file, line, sum(late) / sum(count) AS late FROM read_origin GROUP BY ALL",
):
    """Reads whose producing launch is known, in frameworks without barriers."""

    count: Annotated[Size, "how many, in some of the steps"]
    late: Annotated[Size, "how many of them after the same line had launched again"]
    site: Site


class CompilePhase(
    _StepLog, example="SELECT phase, sum(duration_ns) AS ns FROM compile_phase GROUP BY phase"
):
    """What a part of compiling took alone, where the framework tells."""

    compilation: Annotated[int, "number of the compilation, if it made one"]
    phase: Annotated[str, "dynamo, aot, inductor, triton or other"]
    duration_ns: Annotated[Duration, "how long, without the other phases"]


class GraphBreak(
    _StepLog, example="SELECT file, line, reason FROM graph_break ORDER BY count DESC"
):
    """A place where a compiled function is split into several graphs."""

    compiled: Annotated[str, "the function that is split"]
    reason: Annotated[str, "why, as the compiler says it"]
    hint: Annotated[str, "what the compiler suggests, if anything"]
    whole: Annotated[bool, "whether the function cannot be split there, and so is not compiled"]
    count: Annotated[int, "calls with it from the line that first met it, where known"]
    per_call: Annotated[float, "breaks in each of these calls, of all places, where known"]
    frame: Annotated[str, "what is split, by the number that a compile_id begins with, where known"]
    site: Site


class SplitCollective(_StepLog, example="SELECT file, line, operator FROM split_collective"):
    """A collective that runs by itself, so that the compiled function around it runs in parts."""

    operator: Annotated[str, "the collective; empty if the code came from the cache on disk"]
    calls: Annotated[int, "calls of the line that calls the function, where known"]
    site: Site


class CompileLimit(_StepLog, example="SELECT compiled, name, what, argument FROM compile_limit"):
    """A function that was compiled so often that it is compiled no more, by the line that calls
    it.
    """

    compiled: Annotated[str, "the function"]
    defined_file: Annotated[str, "file that defines it, if the program does"]
    defined_line: Annotated[int, "line of that definition"]
    name: Annotated[str, "the limit, as a setting"]
    size: Annotated[int, "its value, where known"]
    ordinal: Annotated[int, "launches of the line before"]
    launches: Annotated[int, "launches of the line in all, where known"]
    dynamic: Annotated[bool, "whether sizes that have changed are made dynamic, where known"]
    what: Annotated[str, "what was new at last, as in key_change"]
    argument: Annotated[str, "path of the argument"]
    was: Annotated[str, "what it was"]
    now: Annotated[str, "what it is"]
    hint: Annotated[str, "what the compiler suggests, if anything"]
    aborts: Annotated[bool, "whether an error is raised there, as with fullgraph=True"]
    used_file: Annotated[str, "path of the line that uses what was new"]
    used_line: Annotated[Number, "that line"]
    used_function: Annotated[str, "function that it is in"]
    site: Site


class KeyChange(
    _StepLog, example="SELECT what, argument, was, now FROM key_change WHERE what <> 'nothing'"
):
    """What differs in the key of a compiled function from the most similar one before, where
    the framework compiles functions, and its line if known.
    """

    index: Annotated[Number, "number of the compilation"]
    nth: Annotated[Number, "order, from 0"]
    against: Annotated[Number, "number of the earlier compilation"]
    what: Annotated[
        str, "shape, type, weak_type, sharding, static, structure, member, …; same_types"
    ]
    argument: Annotated[str, "path of the argument, as batch['x']"]
    was: Annotated[str, "what it was"]
    now: Annotated[str, "what it is"]
    hint: Annotated[str, "what the compiler suggests, if anything"]
    role: Annotated[
        str, "what its line is: made (of what is new) or used (where that makes a difference)"
    ]
    site: Site


class RepeatedLine(_StepLog, example="SELECT file, line, op, copies FROM repeated_line"):
    """A line that a function went through many times as it was traced, where compiling it took
    long.
    """

    index: Annotated[Number, "number of the compilation"]
    op: Annotated[str, "operation that it makes most often, as the framework lowers it"]
    copies: Annotated[int, "how many, about"]
    operations: Annotated[int, "operations of the function before optimization"]
    part: Annotated[float, "share of them that is repeated about as often"]
    site: Site


class CapturedConstant(
    _StepLog, example="SELECT argument, shape, bytes, line FROM captured_constant"
):
    """A large array that a compiled function closes over, and so a constant of its graph, where
    compiling took long.
    """

    index: Annotated[Number, "number of the compilation"]
    argument: Annotated[str, "variable that holds it, where known"]
    shape: Annotated[str, "its type and shape, as f32[2,3]"]
    bytes: Annotated[Size, "its size"]
    site: Site


class LoggedWarning(
    Fact,
    source="console log",
    example="SELECT kind, count, text FROM logged_warning",
):
    """A warning that the framework printed about what slows it down."""

    kind: Annotated[str, "what it is about, in the framework's words: Performance/TcMalloc"]
    count: Annotated[Count, "how often it was printed"]
    text: Annotated[str, "what it says"]
    site: Site


class Execution(
    Fact,
    source="analysis log of level 2",
    files=("analysis*.log",),
    example="SELECT file, line, count(*) AS launches FROM execution GROUP BY file, line",
):
    """One launched graph."""

    index: Annotated[Number, "number of the execution in its process, from 0"]
    graph_hash: Annotated[str, "hash of the graph"]
    cause: Annotated[str, "the log's sentence"]
    inputs: Annotated[int, "inputs of the graph"]
    outputs: Annotated[int, "outputs of the graph"]
    site: Site


class Fallback(_CallSites, example="SELECT op, file, line, count FROM fallback"):
    """Operators seen falling back to the CPU in probe steps."""

    op: Annotated[
        str, "operator, as its counter is named; NULL where a console log does not name it"
    ]
    count: Annotated[Size, "times seen"]
    duration_ns: Annotated[NetDuration, "time in it, compilation not counted"]
    compile_ns: Annotated[Duration, "compilation that it caused"]
    site: Site


class FallbackCount(
    _StepLog, example="SELECT name, sum(value) AS times FROM fallback_count GROUP BY name"
):
    """How often operators fell back, by when it was counted."""

    step: Annotated[Number, "barrier index"]
    tail: Annotated[bool, "after the last barrier"]
    name: Annotated[str, "counter: the operator, including those that read a scalar"]
    value: Annotated[int, "increase since the last count"]
