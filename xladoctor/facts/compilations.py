"""Graphs: how they were compiled and launched, and the operators that ran outside of them."""

from typing import Annotated

from xladoctor.recording.bootstrap._xladoctor.facts import (
    Count,
    Duration,
    Fact,
    Instant,
    Kind,
    NetDuration,
    Number,
    Site,
    Size,
    derived,
)

Work = Annotated[float, Kind("DOUBLE", 0)]


class _CallSites(Fact, source="call_sites.json"): ...


class _StepLog(Fact, source="steps.jsonl"): ...


class Compilation(
    Fact,
    source="analysis log, step log, timeline",
    files=("steps.jsonl", "analysis*.log"),
    example="SELECT index, file, line, duration_ns FROM compilation ORDER BY duration_ns DESC",
    kept=True,
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
    kept=True,
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
    _StepLog,
    example="SELECT phase, sum(duration_ns) AS ns FROM compile_phase GROUP BY phase",
    kept=True,
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
    op: Annotated[str, "operation that it makes most often, as the framework names it"]
    copies: Annotated[int, "how many, about"]
    operations: Annotated[int, "operations of the function before optimization"]
    part: Annotated[float, "share of them that is repeated about as often"]
    site: Site


class TracedLine(
    _StepLog, example="SELECT file, line, equations FROM traced_line ORDER BY equations DESC"
):
    """A line that equations of a compiled function come from, where compiling it took long: the
    innermost of the program; without one, where none led there.
    """

    index: Annotated[Number, "number of the compilation"]
    equations: Annotated[Size, "how many, those of inner functions at each of their calls"]
    op: Annotated[str, "the commonest of them, as the framework names the operation"]
    copies: Annotated[Size, "how often that makes results of one shape and type"]
    constant_bytes: Annotated[Size, "large arrays closed over that it uses first"]
    of_equations: Annotated[Size, "all equations of the function"]
    complete: Annotated[bool, "whether these are all: of the longest functions a part is counted"]
    tracing_ns: Annotated[Duration, "what tracing the whole function took, where known"]
    lowering_ns: Annotated[Duration, "what lowering all of it took, where known"]
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


class CallArray(_StepLog, example="SELECT argument, shape, bytes FROM call_array WHERE donated"):
    """A large array that a compiled function takes or returns."""

    index: Annotated[Number, "number of the compilation"]
    role: Annotated[str, "argument or result"]
    number: Annotated[Number, "which of these, from 0"]
    argument: Annotated[str, "its path, as state['w'] or result[0]['w']"]
    shape: Annotated[str, "its type and shape, as f32[2,3], of all devices"]
    bytes: Annotated[Size, "its size, of all devices"]
    donated: Annotated[bool, "of an argument: whether the program donates it"]
    site: Annotated[Site, "the line that defines the function"]


class Redivided(_StepLog, example="SELECT shape, was, now, file, line FROM redivided"):
    """A large value that a compiled function divides over devices in one way and then in another,
    with only element-wise operations between: an axis moves from one dimension to another, or the
    first division comes back and nothing needed the other.
    """

    index: Annotated[Number, "number of the compilation"]
    shape: Annotated[str, "its type and shape, as f32[2,3], of all devices"]
    bytes: Annotated[Size, "its size, of all devices"]
    was: Annotated[str, "how it was divided first, as ('data', None)"]
    now: Annotated[str, "how the named line divides it"]
    then: Annotated[str, "how it is divided after that; NULL where the program does not say"]
    before_file: Annotated[str, "path of the line that divided it first"]
    before_line: Annotated[Number, "that line"]
    after_file: Annotated[str, "path of the line that divides or uses it next"]
    after_line: Annotated[Number, "that line"]
    site: Site


class LoggedConstant(
    Fact,
    source="console log",
    example="SELECT what, compiled, shape, duration_ns FROM logged_constant",
):
    """A large constant of a compiled function that the framework or its compiler warned of."""

    what: Annotated[str, "captured (closed over), or folded (computed by the compiler)"]
    compiled: Annotated[str, "name of the function, where known"]
    op: Annotated[str, "what was computed, of a folded one, where known"]
    shape: Annotated[str, "type and shape, as f32[2,3], where known"]
    bytes: Annotated[Size, "size, of a captured one, where known; of all, where none is named"]
    duration_ns: Annotated[Duration, "what computing it took, of a folded one"]
    ended: Annotated[bool, "whether that is all; else at least so long"]
    site: Site


class LoggedWarning(
    Fact, source="console log", example="SELECT kind, count, text FROM logged_warning"
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
