"""What a run leaves behind apart from its timeline: processes, metrics, the step log."""

from __future__ import annotations

from xladoctor.evidence.schema.table import PROCESS, SITE, THREAD, Table, columns

RUN: dict[str, Table] = {
    "process": Table(
        "a captured process",
        "process.json",
        columns(
            PROCESS
            + """
        pid BIGINT process id
        rank INTEGER rank in a distributed job, if it has one
        host VARCHAR name of the machine
        processors BIGINT processors that the process may use
        frontend VARCHAR framework that was captured
        device_kind VARCHAR kind of the devices: CPU, TPU, NEURON, CUDA
        devices BIGINT devices that the process sees
        accelerators VARCHAR[] kinds that the machine has and the framework can drive, if known
        ended BOOLEAN whether the capture ended normally
        stopped BOOLEAN whether xladoctor ended the program, as --timeout asks
        main VARCHAR path of the main script
        cwd VARCHAR working directory
        began_ns BIGINT when the framework was imported
        exit_ns BIGINT when it had ended and the capture began to write the rest
        ended_ns BIGINT when the process was last heard of
        uncaught VARCHAR type of the uncaught exception that ended it, if any
    """
        ),
    ),
    "version": Table(
        "a package of a captured process",
        "process.json",
        columns(
            PROCESS
            + """
        package VARCHAR its name; python for the interpreter
        version VARCHAR its version
    """
        ),
    ),
    "capture_fault": Table(
        "a fault of the capture itself, which switched it off",
        "faults.log",
        columns(
            PROCESS
            + """
        text VARCHAR what it was
        log VARCHAR path of the file with the details
    """
        ),
    ),
    "capture_window": Table(
        "a period that the profiler recorded",
        "process.json",
        columns(
            PROCESS
            + """
        session VARCHAR name of its timeline, for --session
        begin_ns BIGINT when it opened
        end_ns BIGINT when it closed; NULL if the process was cut short before
        of_program BOOLEAN whether the program itself had it recorded
        steps BIGINT barriers in it
        ended_by VARCHAR step limit, time limit, size limit, the program, end of program, …
        bytes BIGINT size of its file
        stop_ns BIGINT time the program was stopped for the profiler to hand over its data
        write_ns BIGINT time writing took while the program ran
    """
        ),
    ),
    "outlier": Table(
        "a step that took much longer than usual without compiling or saving",
        "steps.jsonl",
        columns(
            PROCESS
            + THREAD
            + """
        step INTEGER index of the step
        end_ns BIGINT when it ended
        duration_ns BIGINT how long it took
        typical_ns BIGINT the running median of the steps before it
        traced BOOLEAN whether the steps after it are in a second timeline
    """
        ),
    ),
    "environment": Table(
        "user settings that change how XLA works",
        "process.json",
        columns(
            PROCESS
            + """
        name VARCHAR environment variable
        value VARCHAR its value
        set_by VARCHAR environment (before the program started) or program
        file VARCHAR file of the line that set it, if the program did
        line INTEGER that line
        function VARCHAR function that the line is in
    """
        ),
    ),
    "metric": Table(
        "a metric of the last report",
        "metrics.txt",
        columns(
            PROCESS
            + """
        name VARCHAR name of the metric
        unit VARCHAR ns, bytes or none
        samples BIGINT number of samples
        since BIGINT samples since the report before it, where a text has several
        accumulator DOUBLE sum of the samples, in the unit
        p50 DOUBLE median of the retained samples, in the unit
        p99 DOUBLE the largest but for one in a hundred of them, in the unit
        growth DOUBLE what was added in a second when the report was made, in the unit
    """
        ),
    ),
    "counter": Table(
        "a counter of the last report",
        "metrics.txt",
        columns(
            PROCESS
            + """
        name VARCHAR name of the counter
        value BIGINT its value
    """
        ),
    ),
    "step": Table(
        "what a thread did between two barriers that launched work",
        "steps.jsonl, else the timeline",
        columns(
            PROCESS
            + THREAD
            + """
        main BOOLEAN whether it is the main thread
        tail BOOLEAN whether it is the time after the last barrier, not a step
        index INTEGER number of the barrier on its thread, from 0
        barriers BIGINT barriers that this row covers (1, or more in very long runs)
        ordinal BIGINT barriers seen before at the same call site on this thread
        begin_ns BIGINT end of the previous barrier
        end_ns BIGINT end of this one
        duration_ns BIGINT time between, without the capture's own work
        compile_ns BIGINT spent compiling
        read_ns BIGINT blocked in reads of device values, compilation not counted
        input_ns BIGINT waiting for the next batch
        barrier_ns BIGINT in the barrier (dispatch, waiting for the device), without compilation
        upload_ns BIGINT sending tensors to the device
        save_ns BIGINT saving checkpoints
        capture_ns BIGINT spent by the capture since the previous barrier
        executions BIGINT graphs that the barrier launched
        launches BIGINT graphs that reads launched
        compilations BIGINT graphs compiled
        optimizer_steps BIGINT updates of the optimizer that stepped most
        log_offset BIGINT size of the analysis log at the end
        traced BOOLEAN inside the timeline's window
        probed BOOLEAN slowed by the search for fallbacks; left out of timings
    """
            + SITE
        ),
    ),
    "cut": Table(
        "what a thread did from one launch of work to the next, in steps in which reads"
        " launched some; long steps are also cut elsewhere",
        "steps.jsonl, else the timeline",
        columns(
            PROCESS
            + THREAD
            + """
        main BOOLEAN whether it is the main thread
        step INTEGER index of the step that it is a part of
        ended_by VARCHAR read, barrier or end; a long step is also cut without a launch
        begin_ns BIGINT its start
        end_ns BIGINT its end
        duration_ns BIGINT time between, without the capture's own work
        compile_ns BIGINT spent compiling
        read_ns BIGINT blocked in reads of device values, compilation not counted
        input_ns BIGINT waiting for the next batch
        barrier_ns BIGINT in the barrier, without compilation
        upload_ns BIGINT sending tensors to the device
        save_ns BIGINT saving checkpoints
        launches BIGINT graphs that were launched
        compilations BIGINT graphs compiled
        optimizer_steps BIGINT updates of the optimizer that stepped most
        optimizers BIGINT optimizers that stepped
    """
            + SITE
        ),
    ),
    "enclosing_loop": Table(
        "a loop of the program around a call site that waited for the device,"
        " sent to it or updated parameters",
        "call_sites.json",
        columns(
            PROCESS
            + """
        file VARCHAR path of the call site
        line INTEGER its line
        via VARCHAR function of the framework that it called, if any
        depth INTEGER 0 for the innermost loop
        loop_file VARCHAR path of the file with the loop
        first_line INTEGER line of its for or while
        last_line INTEGER last line of its body
        loop_function VARCHAR function that the loop is in
    """
        ),
    ),
    "processor_use": Table(
        "what a thread of the loop had of the processors, by then",
        "processor.jsonl",
        columns(
            PROCESS
            + THREAD
            + """
        at_ns BIGINT when
        run_ns BIGINT how long it had run since it began
        wait_ns BIGINT how long it had waited for a processor, ready to run
    """
        ),
    ),
    "judged_part": Table(
        "the part of the run that is judged, such as the block of an"
        " expectation; without a row, all of it",
        "derived",
        columns("""
        begin_ns BIGINT its start
        end_ns BIGINT its end
    """),
    ),
    "step_period": Table(
        "how many barriers make one iteration",
        "steps.jsonl",
        columns(
            PROCESS
            + THREAD
            + """
        barriers BIGINT smallest period of the sequence of barrier call sites
    """
        ),
    ),
    "optimizer": Table(
        "an optimizer, and the line that steps it",
        "steps.jsonl",
        columns(
            PROCESS
            + THREAD
            + """
        closure_file VARCHAR path of the program's function that it was given to compute the loss
        closure_line INTEGER first line of that function
        closure_function VARCHAR its name
    """
            + SITE
        ),
    ),
    "idle_optimizer": Table(
        "an optimizer that had nothing to update in its third step: its"
        " parameters are on the host, without gradients",
        "steps.jsonl",
        columns(PROCESS + THREAD + SITE),
    ),
    "loader": Table(
        "a loader of batches, and the line that made it",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        batch_size BIGINT samples in each batch but the last
        drop_last BOOLEAN whether a last, smaller batch is left out
        workers BIGINT processes that make its batches
        collate_file VARCHAR path of the program's own function that puts its batches together
        collate_line INTEGER first line of that function
        collate_function VARCHAR its name
    """
            + SITE
        ),
    ),
    "empty_pass": Table(
        "a pass over a loader of batches that gave none, and the line that made the loader",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        batch_size BIGINT samples that a batch would have
        drop_last BOOLEAN whether a last, smaller batch is left out
    """
            + SITE
        ),
    ),
    "compilation": Table(
        "one compilation",
        "analysis log, step log, timeline",
        columns(
            PROCESS
            + """
        thread BIGINT operating-system id of the thread, where known
        index INTEGER number of the compilation in its process, from 0
        step INTEGER barrier index that it happened before, where known
        ordinal BIGINT launches from the same call site before it
        launches BIGINT launches from the same call site in all, where known
        graph_hash VARCHAR hash of the graph, as in the timeline
        cause VARCHAR the log's sentence; jit(name) where the framework compiles functions
        inputs BIGINT inputs of the graph
        outputs BIGINT outputs of the graph
        memory_bytes BIGINT device memory it takes with its inputs and outputs, where known
        callbacks BIGINT calls from the graph to the host, where known
        cached BOOLEAN whether its code came from a cache on disk, where known
        compile_id VARCHAR number that the compiler gave it, as in compiled_part, where known
        end_ns BIGINT when it ended, where known
        duration_ns BIGINT how long it took, where known
        callers VARCHAR lines of the program that led to the named one, nearest first, where known
    """
            + SITE
        ),
    ),
    "launch": Table(
        "a call site that launched graphs, in frameworks without barriers",
        "call_sites.json",
        columns(
            PROCESS
            + """
        count BIGINT how often
        work DOUBLE operations and bytes of the heaviest of its graphs
        steps BIGINT how often a step ended with it
        operations BOOLEAN whether all were single operations of the framework, where that is known
        parts BIGINT compiled parts of functions that it ran, where functions are compiled in parts
    """
            + SITE
        ),
    ),
    "read_origin": Table(
        "reads of which is known what launched the work, in frameworks without barriers",
        "call_sites.json",
        columns(
            PROCESS
            + """
        count BIGINT how many, in some of the steps
        late BIGINT how many of them after the same line had launched again
    """
            + SITE
        ),
    ),
    "compile_phase": Table(
        "what a part of compiling took alone, where the framework tells",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        compilation BIGINT number of the compilation, if it made one
        phase VARCHAR dynamo, aot, inductor, triton or other
        duration_ns BIGINT how long, without the other phases
    """
        ),
    ),
    "graph_break": Table(
        "a place where a compiled function is split into several graphs",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        compiled VARCHAR the function that is split
        reason VARCHAR why, as the compiler says it
        hint VARCHAR what the compiler suggests, if anything
        whole BOOLEAN whether the function cannot be split there, and so is not compiled
        count BIGINT calls with it from the line that first met it, where known
        per_call DOUBLE breaks in each of these calls, of all places, where known
        frame VARCHAR what is split, by the number that a compile_id begins with, where known
    """
            + SITE
        ),
    ),
    "compile_limit": Table(
        "a function that was compiled so often that it is compiled no more, by"
        " the line that calls it",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        compiled VARCHAR the function
        defined_file VARCHAR file that defines it, if the program does
        defined_line BIGINT line of that definition
        name VARCHAR the limit, as a setting
        size BIGINT its value, where known
        ordinal BIGINT launches of the line before
        launches BIGINT launches of the line in all, where known
        dynamic BOOLEAN whether sizes that have changed are made dynamic, where known
        what VARCHAR what was new at last, as in key_change
        argument VARCHAR path of the argument
        was VARCHAR what it was
        now VARCHAR what it is
        hint VARCHAR what the compiler suggests, if anything
        aborts BOOLEAN whether an error is raised there, as with fullgraph=True
        used_file VARCHAR path of the line that uses what was new
        used_line INTEGER that line
        used_function VARCHAR function that it is in
    """
            + SITE
        ),
    ),
    "key_change": Table(
        "what differs in the key of a compiled function from the most similar one"
        " before, where the framework compiles functions, and its line if known",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        index INTEGER number of the compilation
        nth INTEGER order, from 0
        against INTEGER number of the earlier compilation
        what VARCHAR shape, type, weak_type, sharding, static, structure, member, …; same_types
        argument VARCHAR path of the argument, as batch['x']
        was VARCHAR what it was
        now VARCHAR what it is
        hint VARCHAR what the compiler suggests, if anything
        role VARCHAR what its line is: made (of what is new) or used (where that makes a difference)
    """
            + SITE
        ),
    ),
    "repeated_line": Table(
        "a line that a function went through many times as it was traced, where"
        " compiling it took long",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        index INTEGER number of the compilation
        op VARCHAR operation that it makes most often, as the framework lowers it
        copies BIGINT how many, about
        operations BIGINT operations of the function before optimization
        part DOUBLE share of them that is repeated about as often
    """
            + SITE
        ),
    ),
    "execution": Table(
        "one launched graph",
        "analysis log of level 2",
        columns(
            PROCESS
            + """
        index INTEGER number of the execution in its process, from 0
        graph_hash VARCHAR hash of the graph
        cause VARCHAR the log's sentence
        inputs BIGINT inputs of the graph
        outputs BIGINT outputs of the graph
    """
            + SITE
        ),
    ),
    "host_sync": Table(
        "reads of device values by the host, by step and call site",
        "steps.jsonl, else the timeline",
        columns(
            PROCESS
            + THREAD
            + """
        step INTEGER barrier index that they happened before
        tail BOOLEAN after the last barrier
        kind VARCHAR item, bool, index, repr, numpy, cpu, wait, …; fetch: a timeline alone tells
        closure BOOLEAN in a step closure, which runs after the barrier
        count BIGINT how many
        duration_ns BIGINT time that the host was blocked, compilation not counted
        compile_ns BIGINT compilation that they caused
    """
            + SITE
        ),
    ),
    "data_wait": Table(
        "waiting for the next batch",
        "steps.jsonl",
        columns(
            PROCESS
            + THREAD
            + """
        step INTEGER barrier index
        count BIGINT batches
        duration_ns BIGINT time waited
    """
        ),
    ),
    "transfer": Table(
        "a shape that a call site sent to the device for the first time; of a log"
        " each that it names",
        "steps.jsonl, logs",
        columns(
            PROCESS
            + THREAD
            + """
        step INTEGER barrier index
        direction VARCHAR to_device; a log has to_host and between_devices, too
        shape BIGINT[] dimensions
        dtype VARCHAR element type, as HLO text writes it
    """
            + SITE
        ),
    ),
    "upload": Table(
        "tensors sent to the device, by step and call site",
        "steps.jsonl",
        columns(
            PROCESS
            + THREAD
            + """
        step INTEGER barrier index that they were sent before
        tail BOOLEAN after the last barrier
        count BIGINT tensors
        bytes BIGINT their size
        duration_ns BIGINT time that the host took
    """
            + SITE
        ),
    ),
    "state_save": Table(
        "checkpoints saved, by step and call site",
        "steps.jsonl",
        columns(
            PROCESS
            + THREAD
            + """
        step INTEGER barrier index that they were saved before
        tail BOOLEAN after the last barrier
        count BIGINT how many
        duration_ns BIGINT time taken, compilation not counted
    """
            + SITE
        ),
    ),
    "fallback": Table(
        "operators seen falling back to the CPU in probe steps",
        "call_sites.json",
        columns(
            PROCESS
            + """
        op VARCHAR operator, as its counter is named; NULL where a console log does not name it
        count BIGINT times seen
        duration_ns BIGINT time in it, compilation not counted
        compile_ns BIGINT compilation that it caused
    """
            + SITE
        ),
    ),
    "fallback_count": Table(
        "how often operators fell back, by when it was counted",
        "steps.jsonl",
        columns(
            PROCESS
            + """
        step INTEGER barrier index
        tail BOOLEAN after the last barrier
        name VARCHAR counter: the operator, including those that read a scalar
        value BIGINT increase since the last count
    """
        ),
    ),
}
