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
    without_barrier BOOLEAN whether it has no barrier; it then counts as one step that goes on
    duration_ns BIGINT how long its steps took together
    compile_ns BIGINT spent compiling
    read_ns BIGINT blocked in reads of device values, compilation not counted
    input_ns BIGINT waiting for the next batch; NULL where that was not noted
    barrier_ns BIGINT in barriers, without compilation
    upload_ns BIGINT sending tensors to the device
    barriers BIGINT barriers that launched work; NULL without any
    steps BIGINT iterations: barriers over those in one iteration
    optimizer_steps BIGINT updates of the optimizer that stepped most
    executions BIGINT graphs launched
"""
)
_REPORTED = columns(
    PROCESS
    + """
    compiled HUGEINT graphs that were compiled
    compile_ns DOUBLE time of compiling
    longest_compile_ns DOUBLE time of the longest, but for one in a hundred
    compiled_since BIGINT graphs compiled since the report before it, where a text has several
    launched_since BIGINT launches since then
    launched HUGEINT launches of graphs
    graphs BIGINT graphs that were handed over; of early releases, that were compiled
    barriers HUGEINT barriers
    read_ns DOUBLE time of reads of device values
    fetched BIGINT how often values were fetched from the device
    fetched_bytes DOUBLE bytes fetched
    uploads BIGINT how often tensors were sent to it
    upload_ns DOUBLE time of sending
    upload_growth DOUBLE nanoseconds of sending in each second when the report was made
    sent_bytes DOUBLE bytes sent
    sends BIGINT how often, as the metric of these bytes counts it
"""
)
_LOGGED = {**_OF_PROCESS, **PLACE} | columns("""
    count BIGINT launches or compilations that the line caused
    barriers BIGINT how many the log names besides
    launches BOOLEAN whether launches were counted; otherwise compilations
    op VARCHAR operator that read, where a console log names it
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
        operations BIGINT operations of a graph, in the mean
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
        count BIGINT how many reads
        steps BIGINT steps with one or more
        duration_ns BIGINT time that the host was blocked, compilation not counted
        compile_ns BIGINT compilation that they caused
        share_of_steps DOUBLE share (0 to 1) of the steps of the same barrier that have it
        steps_of VARCHAR these steps, in words: "the steps" where they are all
        count_a_step DOUBLE how many in a step that has any
        share_of_all DOUBLE share (0 to 1) of all steps of the thread that read here, or of time
        costly_turns BOOLEAN whether it waits for long in a loop without barriers: turns are steps
        purpose VARCHAR what for, as in reading_helper, where a known helper reads
        cure VARCHAR what to do instead, a sentence, likewise
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
        seen_by VARCHAR calls, timeline; counters, transfers (of a metrics report); log
        kinds VARCHAR[] kinds of the reads, as in host_sync
        cure VARCHAR what to do instead, a sentence
        count BIGINT how many reads; of all steps, if the timeline has some
        times BIGINT steps with one or more; of a report or a log, reads at this and other lines
        per_step DOUBLE how many a step
        share_of_steps DOUBLE share of the steps of the same barrier; of launches; NULL if unknown
        steps_of VARCHAR these steps, in words
        share_of_all DOUBLE share of all steps or of the time; of transfers, of graphs, too
        turns BOOLEAN whether turns of a loop without barriers count as steps
        profiled BIGINT steps that the profile of another profiler has; 0 without one
        cost_ns BIGINT time that the host was blocked
        cost_basis VARCHAR bound where others may have part in it
        claim STRUCT what taking them out does to the timeline
        waits BOOLEAN whether its steps wait for the device anyway
        behind BOOLEAN whether it waits for values of an earlier step
        bytes_each DOUBLE bytes of a transfer, in the mean
        early BOOLEAN whether the report was made after so few launches that little recurs
        logged BIGINT launches or compilations that the log names in all
        compiled BOOLEAN whether the log names compilations only
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
        launch_ns DOUBLE time of these
        operators BIGINT operators compiled for it
        compile_ns DOUBLE time of compiling them
        graphs HUGEINT launches of graphs besides
    """
    ),
    "launch_record": _OF_PROCESS,
    "barrier_record": _OF_PROCESS,
    "missing_barrier": _LOOP
    | columns("""
        cut_site STRUCT where reads cut growing graphs, as site(); NULL where the optimizer shows it
    """),
    "compiled_again": _AGAIN,
    "late_compilation": _AGAIN
    | {"launches": Column("HUGEINT", "launches from the same call site in all, where known")}
    | columns("""
        what VARCHAR kind, or unknown
        turn DOUBLE iteration of its call site that compiled, from 0
        unsettled BOOLEAN whether it came in the last third of the launches of its call site
        ahead BOOLEAN whether that was before the first barrier of the loop
        warmed_up DOUBLE launches from there after warm-up; NULL where a part of a run is judged
        running_ns BIGINT time of the loop without compiling
        steps BIGINT iterations of the longest loop of the process
        captured BOOLEAN whether the timeline has any graph
        lines STRUCT[] file and line of operations that differ
        place STRUCT what makes the difference: site (as site()), role, op, used; or NULL
        spot STRUCT file and line of that
    """),
    "explained_compilation": columns(
        PROCESS
        + """
        index INTEGER number of the compilation in its process, from 0
        step INTEGER barrier index that it happened before, where known
        ordinal BIGINT launches from the same call site before it
        launches BIGINT launches from the same call site in all, where known
        warmup BOOLEAN whether it is part of the warm-up
        seconds DOUBLE how long it took, in seconds, where known
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
        seconds DOUBLE how long they took, in seconds, where known
        seconds_after_warmup DOUBLE of that after warm-up
        kinds MAP compilations by kind of cause, the commonest first
        first INTEGER number of the first of them
    """),
    "fallback_in_loop": columns(
        PROCESS
        + """
        op VARCHAR operator, as its counter is named
        base VARCHAR the same without overload and backward suffix
        count HUGEINT how often it ran on the CPU
        per_step DOUBLE how often in an iteration; NULL where these are not known
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
        per_step DOUBLE how often in an iteration; NULL where these are not known
        cost_ns BIGINT time in it, from the probe steps to all; NULL where not seen
        backward_count BIGINT of the count, in the backward pass
        part DOUBLE share (0 to 1) of all fallbacks of the process
        dynamic BOOLEAN whether the data decide the size of its result
    """),
    "named_fallback": columns(
        PROCESS
        + """
        op VARCHAR operator, as the log names it
        base VARCHAR the same without its overload
        dynamic BOOLEAN whether the data decide the size of its result
        places STRUCT[] lines at which some operator ran or a value was read, as the log has it
    """
    ),
    "computing": TABLES["hlo_instruction"].columns
    | columns("""
        product BOOLEAN whether it is a product of matrices, a convolution or a custom call
        pass VARCHAR forward, backward, update, or NULL where nothing tells
    """),
    "repetition": columns(
        PROCESS
        + """
        program_id BIGINT number of the program
        copies BIGINT how often the graph has the block
        layers BOOLEAN whether the copies are layers, each with weights of its own
        bare BOOLEAN whether its instructions have neither lines nor operations
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
    """
    ),
    "reloading": _OF_PROCESS,
    "steady_loop": columns(
        PROCESS
        + THREAD
        + """
        steps BIGINT barriers of its steady steps
        duration_ns BIGINT how long these took together
        input_ns BIGINT waiting for the next batch; NULL where that was not noted
    """
    ),
    "processor_wait": columns(
        PROCESS
        + """
        share DOUBLE share (0 to 1) of the time that the thread was ready and had no processor
        running DOUBLE share (0 to 1) of the time that it ran
    """
    ),
    "scope_time": columns(
        PROCESS
        + """
        device INTEGER number of the device
        scope VARCHAR named scopes, the outermost first, joined by " > "
        count BIGINT operations that ran
        self_ns BIGINT how long they ran
        share DOUBLE of all that the device ran
    """
    ),
    "steady_timeline": columns(
        PROCESS
        + """
        steps BIGINT steady steps of the timeline
        duration_ns BIGINT how long they took together
        input_ns BIGINT waiting for the next batch
        tracing_ns BIGINT Python that built graphs, estimated
        idle_input_ns BIGINT no device had work while the host waited for the next batch
        idle_tracing_ns BIGINT while Python built graphs, estimated; NULL without samples
        idle_other_ns BIGINT while other Python ran
    """
    ),
    "host_line": columns(
        PROCESS
        + """
        kind VARCHAR input, tracing, other, fallback or upload
        file VARCHAR path of the user's line
        line INTEGER the line, from 1
        function VARCHAR function that it is in
        looping BOOLEAN whether the samples are of the loop's own thread
        count BIGINT samples
        own BIGINT of these, in the line's own code
        of_kind BIGINT samples of this kind in all
        share DOUBLE share (0 to 1) of these
        rank BIGINT 1 for the line of a kind with most samples
    """
    ),
    "hottest_lines": columns(
        PROCESS
        + """
        kind VARCHAR as in host_line
        samples BIGINT samples of this kind in all
        lines STRUCT[] place (file:line) and share (0 to 1), the hottest first
    """
    ),
    "input_signal": _OF_PROCESS,
    "account": columns(
        PROCESS
        + THREAD
        + """
        began_at BIGINT nanoseconds of the wall clock: its first launch's interval began
        ended_at BIGINT nanoseconds of the wall clock: its last one ended
        compile_ns BIGINT compiling
        read_ns BIGINT blocked in reads of device values
        input_ns BIGINT waiting for the next batch
        barrier_ns BIGINT in barriers
        upload_ns BIGINT sending tensors to the device
        save_ns BIGINT saving checkpoints
        python_ns BIGINT the rest: Python
        setup_ns BIGINT of that, making the model and the data
        earlier_compile_ns BIGINT compiling before the loop, on other threads
        writing_ns BIGINT the capture's own writing after the program's end
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
        thread BIGINT thread whose loop it is, 0 where it is of the process
        file VARCHAR path of the line
        line INTEGER the line, from 1
        function VARCHAR function that it is in
        value DOUBLE what the line adds to the count; for peak_memory bytes
        times BIGINT how often it did
        what VARCHAR what it did: kinds of compilations or reads, the operator
    """
    ),
}
