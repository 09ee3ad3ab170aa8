"""What a run leaves behind apart from its timeline: processes, metrics, the step log."""

from typing import Annotated

from xladoctor.recording.bootstrap._xladoctor.facts import (
    Duration,
    Fact,
    Instant,
    Number,
    Site,
    ThreadId,
)


class _StepLog(Fact, source="steps.jsonl"): ...


class _CallSites(Fact, source="call_sites.json"): ...


class _Process(Fact, source="process.json"): ...


class Process(_Process, example="SELECT process, rank, device_kind, ended FROM process"):
    """A captured process."""

    pid: Annotated[int, "process id"]
    rank: Annotated[Number, "rank in a distributed job, if it has one"]
    host: Annotated[str, "name of the machine"]
    processors: Annotated[int, "processors that the process may use"]
    frontend: Annotated[str, "framework that was captured"]
    device_kind: Annotated[str, "kind of the devices: CPU, TPU, NEURON, CUDA"]
    devices: Annotated[int, "devices that the process sees"]
    accelerators: Annotated[
        tuple[str, ...], "kinds that the machine has and the framework can drive, if known"
    ]
    ended: Annotated[bool, "whether the capture ended normally"]
    stopped: Annotated[bool, "whether xladoctor ended the program, as --timeout asks"]
    main: Annotated[str, "path of the main script"]
    cwd: Annotated[str, "working directory"]
    began_ns: Annotated[Instant, "when the framework was imported"]
    exit_ns: Annotated[Instant, "when it had ended and the capture began to write the rest"]
    ended_ns: Annotated[Instant, "when the process was last heard of"]
    uncaught: Annotated[str, "type of the uncaught exception that ended it, if any"]


class Version(_Process, example="SELECT package, version FROM version WHERE package = 'python'"):
    """A package of a captured process."""

    package: Annotated[str, "its name; python for the interpreter"]
    version: Annotated[str, "its version"]


class CaptureFault(Fact, source="faults.log", example="SELECT text, log FROM capture_fault"):
    """A fault of the capture itself, which switched it off."""

    text: Annotated[str, "what it was"]
    log: Annotated[str, "path of the file with the details"]


class CaptureWindow(_Process, example="SELECT session, steps, ended_by, bytes FROM capture_window"):
    """A period that the profiler recorded."""

    session: Annotated[str, "name of its timeline, for --session"]
    begin_ns: Annotated[Instant, "when it opened"]
    end_ns: Annotated[Instant, "when it closed; NULL if the process was cut short before"]
    of_program: Annotated[bool, "whether the program itself had it recorded"]
    steps: Annotated[int, "barriers in it"]
    ended_by: Annotated[str, "step limit, time limit, size limit, the program, end of program, …"]
    bytes: Annotated[int, "size of its file"]
    stop_ns: Annotated[
        Duration, "time the program was stopped for the profiler to hand over its data"
    ]
    write_ns: Annotated[Duration, "time writing took while the program ran"]


class Environment(_Process, example="SELECT name, value, set_by FROM environment"):
    """User settings that change how XLA works."""

    name: Annotated[str, "environment variable"]
    value: Annotated[str, "its value"]
    set_by: Annotated[str, "environment (before the program started) or program"]
    file: Annotated[str, "file of the line that set it, if the program did"]
    line: Annotated[Number, "that line"]
    function: Annotated[str, "function that the line is in"]


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

    name: Annotated[str, "name of the counter"]
    value: Annotated[int, "its value"]


class Step(
    Fact,
    source="steps.jsonl, else the timeline",
    files=("steps.jsonl",),
    example="SELECT index, duration_ns / 1e6 AS ms, compilations FROM step WHERE NOT tail",
):
    """What a thread did between two barriers that launched work."""

    thread: ThreadId
    main: Annotated[bool, "whether it is the main thread"]
    tail: Annotated[bool, "whether it is the time after the last barrier, not a step"]
    index: Annotated[Number, "number of the barrier on its thread, from 0"]
    barriers: Annotated[int, "barriers that this row covers (1, or more in very long runs)"]
    ordinal: Annotated[int, "barriers seen before at the same call site on this thread"]
    begin_ns: Annotated[Instant, "end of the previous barrier"]
    end_ns: Annotated[Instant, "end of this one"]
    duration_ns: Annotated[Duration, "time between, without the capture's own work"]
    compile_ns: Annotated[Duration, "spent compiling"]
    read_ns: Annotated[Duration, "blocked in reads of device values, compilation not counted"]
    input_ns: Annotated[Duration, "waiting for the next batch"]
    barrier_ns: Annotated[
        Duration, "in the barrier (dispatch, waiting for the device), without compilation"
    ]
    upload_ns: Annotated[Duration, "sending tensors to the device"]
    save_ns: Annotated[Duration, "saving checkpoints"]
    capture_ns: Annotated[Duration, "spent by the capture since the previous barrier"]
    executions: Annotated[int, "graphs that the barrier launched"]
    launches: Annotated[int, "graphs that reads launched"]
    compilations: Annotated[int, "graphs compiled"]
    optimizer_steps: Annotated[int, "updates of the optimizer that stepped most"]
    log_offset: Annotated[int, "size of the analysis log at the end"]
    traced: Annotated[bool, "inside the timeline's window"]
    probed: Annotated[bool, "slowed by the search for fallbacks; left out of timings"]
    site: Site


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
    _CallSites, example="SELECT line, loop_file, first_line FROM enclosing_loop WHERE depth = 0"
):
    """A loop of the program around a call site that waited for the device, sent to it or
    updated parameters.
    """

    file: Annotated[str, "path of the call site"]
    line: Annotated[Number, "its line"]
    via: Annotated[str, "function of the framework that it called, if any"]
    depth: Annotated[Number, "0 for the innermost loop"]
    loop_file: Annotated[str, "path of the file with the loop"]
    first_line: Annotated[Number, "line of its for or while"]
    last_line: Annotated[Number, "last line of its body"]
    loop_function: Annotated[str, "function that the loop is in"]


class ProcessorUse(
    Fact,
    source="processor.jsonl",
    example="SELECT thread, max(wait_ns) AS waited_ns FROM processor_use GROUP BY thread",
):
    """What a thread of the loop had of the processors, by then."""

    thread: ThreadId
    at_ns: Annotated[Instant, "when"]
    run_ns: Annotated[Duration, "how long it had run since it began"]
    wait_ns: Annotated[Duration, "how long it had waited for a processor, ready to run"]


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
    _CallSites, example="SELECT file, line, count FROM launch WHERE steps = 0 ORDER BY count DESC"
):
    """A call site that launched graphs, in frameworks without barriers."""

    count: Annotated[int, "how often"]
    work: Annotated[float, "operations and bytes of the heaviest of its graphs"]
    steps: Annotated[int, "how often a step ended with it"]
    operations: Annotated[
        bool, "whether all were single operations of the framework, where that is known"
    ]
    parts: Annotated[
        int, "compiled parts of functions that it ran, where functions are compiled in parts"
    ]
    site: Site


class ReadOrigin(
    _CallSites,
    example="SELECT file, line, sum(late) / sum(count) AS late FROM read_origin GROUP BY ALL",
):
    """Reads whose producing launch is known, in frameworks without barriers."""

    count: Annotated[int, "how many, in some of the steps"]
    late: Annotated[int, "how many of them after the same line had launched again"]
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


class HostSync(
    Fact,
    source="steps.jsonl, else the timeline",
    files=("steps.jsonl",),
    example="SELECT kind, file, line, sum(count) AS reads FROM host_sync GROUP BY kind, file, line",
):
    """Reads of device values by the host, by step and call site."""

    thread: ThreadId
    step: Annotated[Number, "barrier index that they happened before"]
    tail: Annotated[bool, "after the last barrier"]
    kind: Annotated[
        str, "item, bool, index, repr, numpy, cpu, wait, …; fetch: a timeline alone tells"
    ]
    closure: Annotated[bool, "in a step closure, which runs after the barrier"]
    count: Annotated[int, "how many"]
    duration_ns: Annotated[Duration, "time that the host was blocked, compilation not counted"]
    compile_ns: Annotated[Duration, "compilation that they caused"]
    site: Site


class DataWait(
    _StepLog, example="SELECT sum(duration_ns) / sum(count) AS ns_a_batch FROM data_wait"
):
    """Waiting for the next batch."""

    thread: ThreadId
    step: Annotated[Number, "barrier index"]
    count: Annotated[int, "batches"]
    duration_ns: Annotated[Duration, "time waited"]


class Upload(
    _StepLog,
    example="SELECT file, line, sum(bytes) / count(*) AS bytes_a_step FROM upload GROUP BY file, "
    "line",
):
    """Tensors sent to the device, by step and call site."""

    thread: ThreadId
    step: Annotated[Number, "barrier index that they were sent before"]
    tail: Annotated[bool, "after the last barrier"]
    count: Annotated[int, "tensors"]
    bytes: Annotated[int, "their size"]
    duration_ns: Annotated[Duration, "time that the host took"]
    site: Site


class StateSave(_StepLog, example="SELECT step, duration_ns FROM state_save"):
    """Checkpoints saved, by step and call site."""

    thread: ThreadId
    step: Annotated[Number, "barrier index that they were saved before"]
    tail: Annotated[bool, "after the last barrier"]
    count: Annotated[int, "how many"]
    duration_ns: Annotated[Duration, "time taken, compilation not counted"]
    site: Site


class Fallback(_CallSites, example="SELECT op, file, line, count FROM fallback"):
    """Operators seen falling back to the CPU in probe steps."""

    op: Annotated[
        str, "operator, as its counter is named; NULL where a console log does not name it"
    ]
    count: Annotated[int, "times seen"]
    duration_ns: Annotated[Duration, "time in it, compilation not counted"]
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
