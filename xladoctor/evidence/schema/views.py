"""The columns of the views that rules and queries may rely on; their SQL files say what they are.

A view that is not here is internal, and its comment begins with that word. Of types made of others
only the outermost is named: STRUCT, STRUCT[], MAP.
"""

from __future__ import annotations

from xladoctor.facts import TABLES
from xladoctor.facts.table import PLACE, SITE, Column

Columns = dict[str, Column]


def columns(text: str) -> Columns:
    """Parse ``name TYPE meaning`` lines."""
    rows = (line.split(None, 2) for line in text.splitlines() if line.strip())
    return {name: Column(kind, meaning) for name, kind, meaning in rows}


PROCESS = "process INTEGER number of the process in this evidence, from 0\n"
THREAD = "thread BIGINT operating-system id of the thread\n"

_OF_PROCESS = columns(PROCESS)
_STEP = TABLES["step"].columns
_COMPILATION = TABLES["compilation"].columns
_CAUSE = {
    name: column
    for name, column in TABLES["recompilation"].columns.items()
    if name not in ("process", "index", "role", *SITE)
}
_MADE = {f"made_{name}": TABLES["recompilation"].columns[name] for name in ("role", *PLACE)}
_LOOP = columns(
    PROCESS
    + THREAD
    + """
    without_barrier BOOLEAN whether it has no barrier; it then counts as one open-ended step
    duration_ns BIGINT total time of its steps
    compile_ns BIGINT spent compiling
    read_ns BIGINT blocked in reads of device values, compilation not counted
    input_ns BIGINT waiting for the next batch; NULL if that was not recorded
    barrier_ns BIGINT in barriers, without compilation
    upload_ns BIGINT sending tensors to the device
    barriers BIGINT barriers that launched work; NULL if there are none
    steps BIGINT iterations: barriers divided by barriers per iteration
    optimizer_steps BIGINT updates of the optimizer that stepped most
    executions BIGINT graphs launched
"""
)
_REPORTED = columns(
    PROCESS
    + """
    compiled HUGEINT graphs that were compiled
    compile_ns DOUBLE time spent compiling
    longest_compile_ns DOUBLE 99th percentile of the compilation times
    compiled_since BIGINT graphs compiled since the previous report in the same text
    launched_since BIGINT launches since the previous report
    launched HUGEINT launches of graphs
    graphs BIGINT graphs launched; in reports of early releases, graphs compiled
    barriers HUGEINT barriers
    read_ns DOUBLE time spent reading device values
    fetched BIGINT how often values were fetched from the device
    fetched_bytes DOUBLE bytes fetched
    uploads BIGINT how often tensors were sent to the device
    upload_ns DOUBLE time spent sending tensors
    upload_growth DOUBLE nanoseconds spent sending per second at the time of the report
    sent_bytes DOUBLE bytes sent
    sends BIGINT number of transfers, as counted by the metric of these bytes
"""
)
_LOGGED = {**_OF_PROCESS, **PLACE} | columns("""
    count BIGINT launches or compilations that the line caused
    barriers BIGINT barriers that the log also names
    launches BOOLEAN whether launches were counted; otherwise compilations
    op VARCHAR operator that read, if a console log names it
""")
_AGAIN = (
    _COMPILATION
    | _CAUSE
    | _MADE
    | columns("""
    compiled VARCHAR name of the function, where the framework compiles functions
""")
)

VIEWS: dict[str, Columns] = {
    "measured": TABLES["metric"].columns
    | columns("""
        meaning VARCHAR what it measures, as in metric_meaning
        rank INTEGER its rank in metric_meaning
    """),
    "reported": _REPORTED,
    "compile_record": _OF_PROCESS,
    "runtime_counts": _OF_PROCESS,
    "operator_counts": _OF_PROCESS,
    "operator_record": _OF_PROCESS,
    "compile_times": _OF_PROCESS,
    "reported_piling": _REPORTED
    | columns("""
        operations BIGINT mean number of operations per graph
    """),
    "loop": _LOOP,
    "lead": _LOOP,
    "steady_step": _STEP,
    "captured_loop": _OF_PROCESS,
    "read_in_loop": columns(
        PROCESS
        + THREAD
        + """
        kind VARCHAR kind of the read, as in host_sync
    """
    )
    | SITE
    | columns("""
        count BIGINT number of reads
        steps BIGINT steps with one or more
        duration_ns BIGINT time that the host was blocked, compilation not counted
        compile_ns BIGINT compilation that they caused
        share_of_steps DOUBLE share (0 to 1) of the steps of the same barrier that have such a read
        steps_of VARCHAR these steps, in words: "the steps" if it is all of them
        count_a_step DOUBLE reads per step that has any
        share_of_all DOUBLE share (0 to 1) of all steps of the thread that read here, or of its time
        costly_turns BOOLEAN whether a loop without barriers waits long here, by iterations
        purpose VARCHAR purpose as in reading_helper, if a known helper reads
        cure VARCHAR what to do instead, as a sentence, if a known helper reads
    """),
    "logged_read": _LOGGED,
    "logged_cut": _LOGGED
    | columns("""
        share DOUBLE share (0 to 1) of all the process's reads that the log names
    """),
    "upload_record": _OF_PROCESS,
    "read_record": _OF_PROCESS,
    "read_finding": columns(PROCESS + THREAD)
    | SITE
    | columns("""
        purpose VARCHAR progress, condition, helper, metric, log, free; else print, copy or value
        seen_by VARCHAR source: calls, timeline, counters or transfers (metrics report), log
        kinds VARCHAR[] kinds of the reads, as in host_sync
        cure VARCHAR what to do instead, as a sentence
        count BIGINT number of reads; in all steps, if the timeline has some of them
        times BIGINT steps with one or more; of a report or a log, reads at this and other lines
        per_step DOUBLE reads per step
        share_of_steps DOUBLE share of the steps of the same barrier; of launches; NULL if unknown
        steps_of VARCHAR these steps, in words
        share_of_all DOUBLE share of all steps or of the time; of transfers, of graphs, too
        turns BOOLEAN whether iterations of a loop without barriers count as steps
        profiled BIGINT steps in the profile of another profiler; 0 if there is none
        cost_ns BIGINT time that the host was blocked
        cost_basis VARCHAR bound if other causes may contribute to it, or the device works meanwhile
        device_limits BOOLEAN whether the host does next to nothing but wait in this loop
        claim STRUCT what removing them does to the timeline
        waits BOOLEAN whether its steps wait for the device anyway
        behind BOOLEAN whether it waits for values of an earlier step
        bytes_each DOUBLE mean bytes per transfer
        early BOOLEAN whether the report came after too few launches for anything to recur
        logged BIGINT total of launches or compilations that the log names
        compiled BOOLEAN whether the log names only compilations
    """),
    "graph_size": columns(
        PROCESS
        + """
        graph_hash VARCHAR hash of the graph
        instructions INTEGER its instructions, after optimization
    """
    ),
    "eager_launches": columns(
        PROCESS
        + """
        launches HUGEINT launches of single operators
        launch_ns DOUBLE time of these launches
        operators BIGINT operators compiled one by one
        compile_ns DOUBLE time spent compiling them
        graphs HUGEINT launches of graphs
    """
    ),
    "launch_record": _OF_PROCESS,
    "barrier_record": _OF_PROCESS,
    "missing_barrier": _LOOP
    | columns("""
        cut_site STRUCT where reads cut growing graphs, as site(); NULL if the optimizer shows it
    """),
    "compiled_again": _AGAIN,
    "late_compilation": _AGAIN
    | {"launches": Column("HUGEINT", "total launches from the same call site, if known")}
    | columns("""
        what VARCHAR kind, or unknown
        turn DOUBLE iteration of its call site that compiled, from 0
        unsettled BOOLEAN whether it came in the last third of the launches of its call site
        ahead BOOLEAN whether it compiled before the first barrier of the loop
        warmed_up DOUBLE launches from there after warm-up; NULL if only part of a run is judged
        running_ns BIGINT time of the loop without compiling
        steps BIGINT iterations of the longest loop of the process
        captured BOOLEAN whether the timeline has any graph
        lines STRUCT[] file and line of operations that differ
        place STRUCT what makes the difference: site (as site()), role, op, used; or NULL
        spot STRUCT file and line of place
    """),
    "explained_compilation": columns(
        PROCESS
        + """
        index INTEGER number of the compilation in its process, from 0
        step INTEGER index of the next barrier, if known
        ordinal BIGINT launches from the same call site before it
        launches BIGINT total launches from the same call site, if known
        warmup BOOLEAN whether it is part of the warm-up
        seconds DOUBLE seconds it took, if known
        graph_hash VARCHAR hash of the graph
        in_timeline BOOLEAN whether the timeline has the graph
        inputs BIGINT inputs of the graph
        outputs BIGINT outputs of the graph
    """
    )
    | SITE
    | columns("""
        trigger VARCHAR what caused the launch: the log's sentence
        cause STRUCT why it was compiled again: columns of recompilation; NULL for a site's first
    """),
    "compiled_site": _OF_PROCESS
    | SITE
    | columns("""
        trigger VARCHAR what caused its launches: the log's sentence
        compilations BIGINT compilations
        graphs UBIGINT different graphs
        seconds DOUBLE seconds they took, if known
        seconds_after_warmup DOUBLE the part of seconds after warm-up
        kinds MAP compilations by kind of cause, the most frequent first
        first INTEGER number of the first of them
    """),
    "fallback_in_loop": columns(
        PROCESS
        + """
        op VARCHAR operator, as its counter is named
        base VARCHAR the same without overload and backward suffix
        count HUGEINT how often it ran on the CPU
        per_step DOUBLE how often per iteration; NULL if iterations are unknown
    """
    ),
    "fallback_op": columns(
        PROCESS
        + """
        op VARCHAR operator, as its counter is named
        base VARCHAR the same without overload and backward suffix
    """
    )
    | PLACE
    | columns("""
        count BIGINT how often it ran on the CPU at this line
        per_step DOUBLE how often per iteration; NULL if iterations are unknown
        cost_ns BIGINT time in it, extrapolated from the probed steps; NULL if not measured
        backward_count BIGINT the part of count in the backward pass
        part DOUBLE share (0 to 1) of all fallbacks of the process
        dynamic BOOLEAN whether the data decide the size of its result
    """),
    "named_fallback": columns(
        PROCESS
        + """
        op VARCHAR operator, as the log names it
        base VARCHAR the same without its overload
        dynamic BOOLEAN whether the data decide the size of its result
        places STRUCT[] lines at which the log has an operator or a read
    """
    ),
    "computing": TABLES["hlo_instruction"].columns
    | columns("""
        product BOOLEAN whether it is a product of matrices, a convolution or a custom call
        pass VARCHAR forward, backward, update, or NULL if unknown
    """),
    "repetition": columns(
        PROCESS
        + """
        program_id BIGINT number of the program
        copies BIGINT how often the graph has the block
        layers BOOLEAN whether the copies are layers, each with its own weights
        bare BOOLEAN whether its instructions have neither lines nor operation names
        trains BOOLEAN whether it updates parameters
        convolves BOOLEAN whether it has convolutions
        opcode VARCHAR operation that is repeated at the line
    """
    )
    | PLACE
    | columns("""
        part DOUBLE share (0 to 1) of the graph's instructions that are copies of the first
    """),
    "batches_in_graph": columns(
        PROCESS
        + """
        program_id BIGINT number of the program
        count BIGINT batches
        loop STRUCT the loop around the line of the backward pass: file, line, last_line
    """
    ),
    "reloading": _OF_PROCESS,
    "steady_loop": columns(
        PROCESS
        + THREAD
        + """
        steps BIGINT number of its steady steps
        duration_ns BIGINT total time of these steps
        input_ns BIGINT waiting for the next batch; NULL if that was not recorded
    """
    ),
    "processor_wait": columns(
        PROCESS
        + """
        share DOUBLE share (0 to 1) of the time in which the thread was ready but had no processor
        running DOUBLE share (0 to 1) of the time in which it ran
    """
    ),
    "scope_time": columns(
        PROCESS
        + """
        device INTEGER number of the device
        scope VARCHAR named scopes, the outermost first, joined by " > "
        count BIGINT operations that ran
        self_ns BIGINT time that they ran
        share DOUBLE share (0 to 1) of all that the device ran
    """
    ),
    "steady_timeline": columns(
        PROCESS
        + """
        steps BIGINT steady steps of the timeline
        duration_ns BIGINT total time of these steps
        input_ns BIGINT waiting for the next batch
        tracing_ns BIGINT Python that built graphs (estimate)
        idle_input_ns BIGINT no device had work while the host waited for the next batch
        idle_tracing_ns BIGINT likewise, while Python built graphs (estimate); NULL without samples
        idle_other_ns BIGINT likewise, while other Python ran
    """
    ),
    "host_line": columns(
        PROCESS
        + """
        kind VARCHAR input, tracing, other, fallback or upload
        file VARCHAR path of the user's line
        line INTEGER the line, from 1
        function VARCHAR function that it is in
        looping BOOLEAN whether the samples are of the loop's thread
        count BIGINT samples
        own BIGINT samples in the line's own code
        of_kind BIGINT all samples of this kind
        share DOUBLE share (0 to 1) of these
        rank BIGINT 1 for the line with the most samples of its kind
    """
    ),
    "hottest_lines": columns(
        PROCESS
        + """
        kind VARCHAR as in host_line
        samples BIGINT all samples of this kind
        lines STRUCT[] place (file:line) and share (0 to 1), the hottest first
    """
    ),
    "input_signal": _OF_PROCESS,
    "account": columns(
        PROCESS
        + THREAD
        + """
        began_at BIGINT when its first launch's interval began, in nanoseconds of the wall clock
        ended_at BIGINT when its last launch's interval ended, in nanoseconds of the wall clock
        compile_ns BIGINT compiling
        read_ns BIGINT blocked in reads of device values
        input_ns BIGINT waiting for the next batch
        barrier_ns BIGINT in barriers
        upload_ns BIGINT sending tensors to the device
        save_ns BIGINT saving checkpoints
        python_ns BIGINT the rest: Python
        setup_ns BIGINT the part of python_ns that makes the model and the data
        earlier_compile_ns BIGINT compiling before the loop, on other threads
        writing_ns BIGINT writing by the capture after the program's end
    """
    ),
    "time_line": columns("""
        part VARCHAR compile, warmup_compile, read, input, barrier, dispatch, upload, save, …
        file VARCHAR path of the line
        line INTEGER the line, from 1
        share DOUBLE share (0 to 1) of the part that was spent there
    """),
    "consumer": columns(
        """
        name VARCHAR the count: compilations_after_warmup, host_syncs_per_step, …
    """
        + PROCESS
        + """
        thread BIGINT thread of the loop; 0 for counts of the process
        file VARCHAR path of the line
        line INTEGER the line, from 1
        function VARCHAR function that it is in
        value DOUBLE what the line contributes to the count; bytes for peak_memory
        times BIGINT how often it occurred
        what VARCHAR kinds of compilations or reads, or the operator
    """
    ),
    "pod_part": columns(
        PROCESS
        + """
        part VARCHAR input, compile, tracing, python, dispatch, upload, save, compute, exchange, …
        ns BIGINT mean time of a step that it takes
        median_ns BIGINT median of all processes
        mad_ns BIGINT median of the absolute deviations from it
    """
    ),
    "pod_straggler": columns(
        PROCESS
        + """
        name VARCHAR as in pod_process
        device INTEGER the one that is slow, if one of its host's alone is
        kind VARCHAR lag, compile, input, graph, device, host or sometimes
        part VARCHAR part of its late steps that differs most, as in pod_part
        excess_ns BIGINT by how much, on average
        late_steps BIGINT steps in which it was late
        steps BIGINT steps that were compared
        step_ns BIGINT mean duration of the pod's steps
        processes BIGINT processes that were compared
    """
    ),
}
