"""Every table and column of the evidence, with its unit and where it comes from.

Instants are nanoseconds of the wall clock, durations nanoseconds. A *call site* is the innermost
line that is not Python's, torch's or torch_xla's own; where that line lies in an installed package,
``user_*`` is the nearest line of the user's.
"""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column: DuckDB type and meaning."""

    type: str
    text: str


class Table(NamedTuple):
    """A table: what it holds, where it is read from, its columns."""

    text: str
    source: str
    columns: dict[str, Column]


def _columns(text: str) -> dict[str, Column]:
    """Parse ``name TYPE meaning`` lines."""
    rows = (line.split(None, 2) for line in text.splitlines() if line.strip())
    return {name: Column(kind, meaning) for name, kind, meaning in rows}


_PROCESS = "process INTEGER number of the process in this evidence, from 0\n"
_THREAD = "thread BIGINT operating-system id of the thread\n"
_SITE = """
file VARCHAR path of the named line
line INTEGER the named line, from 1
function VARCHAR function that the named line is in
user_file VARCHAR path of the user's line that led there, where the named one is a library's
user_line INTEGER that line
user_function VARCHAR function that it is in
via VARCHAR function of torch or torch_xla that the named line called, if any
"""

TABLES: dict[str, Table] = {
    "process": Table("a captured process", "process.json", _columns(_PROCESS + """
        pid BIGINT process id
        rank INTEGER rank in a distributed job, if it has one
        host VARCHAR name of the machine
        torch VARCHAR version of torch
        torch_xla VARCHAR version of torch_xla
        python VARCHAR version of Python
        device_kind VARCHAR kind of the devices: CPU, TPU, NEURON, CUDA
        devices INTEGER devices that the process sees
        ended BOOLEAN whether the capture was closed in order
        main VARCHAR path of the main script
        cwd VARCHAR working directory
        began_ns BIGINT when torch_xla was imported
        ended_ns BIGINT when the process was last heard of
    """)),
    "environment": Table("settings of the user's that change how XLA works", "process.json",
                         _columns(_PROCESS + """
        name VARCHAR environment variable
        value VARCHAR its value
        set_by VARCHAR environment (before the program started) or program
        file VARCHAR file of the line that set it, where the program did
        line INTEGER that line
        function VARCHAR function that the line is in
    """)),
    "metric": Table("a metric of the last report", "metrics.txt", _columns(_PROCESS + """
        name VARCHAR name of the metric
        unit VARCHAR ns, bytes or none
        samples BIGINT number of samples
        accumulator DOUBLE sum of the samples, in the unit
        p50 DOUBLE median of the retained samples, in the unit
    """)),
    "counter": Table("a counter of the last report", "metrics.txt", _columns(_PROCESS + """
        name VARCHAR name of the counter
        value BIGINT its value
    """)),
    "step": Table("what a thread did between two barriers that launched work", "steps.jsonl",
                  _columns(_PROCESS + _THREAD + """
        main BOOLEAN whether it is the main thread
        tail BOOLEAN the time after the last barrier: no step
        index INTEGER number of the barrier on its thread, from 0
        barriers INTEGER barriers that this row covers (1, or more in very long runs)
        ordinal INTEGER barriers seen before at the same call site on this thread
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
        executions INTEGER graphs that the barrier launched
        compilations INTEGER graphs compiled
        optimizer_steps INTEGER updates of the optimizer that stepped most
        log_offset BIGINT size of the analysis log at the end
        traced BOOLEAN inside the timeline's window
        probed BOOLEAN slowed by a look for fallbacks: left out of timings
    """ + _SITE)),
    "step_period": Table("how many barriers make a turn of the loop", "steps.jsonl",
                         _columns(_PROCESS + _THREAD + """
        barriers INTEGER smallest period of the sequence of barrier call sites
    """)),
    "optimizer": Table("an optimizer, and the line that has it update", "steps.jsonl",
                       _columns(_PROCESS + _THREAD + _SITE)),
    "compilation": Table("one compilation", "analysis log, step log, timeline",
                         _columns(_PROCESS + """
        thread BIGINT operating-system id of the thread, where known
        index INTEGER number of the compilation in its process, from 0
        step INTEGER barrier index that it happened before, where known
        ordinal INTEGER launches from the same call site before it
        launches INTEGER launches from the same call site in all, where known
        graph_hash VARCHAR hash of the graph, as in the timeline
        cause VARCHAR torch_xla's sentence
        inputs INTEGER inputs of the graph
        outputs INTEGER outputs of the graph
        end_ns BIGINT when it ended, where known
        duration_ns BIGINT how long it took, where known
    """ + _SITE)),
    "execution": Table("one launched graph", "analysis log of level 2", _columns(_PROCESS + """
        index INTEGER number of the execution in its process, from 0
        graph_hash VARCHAR hash of the graph
        cause VARCHAR torch_xla's sentence
        inputs INTEGER inputs of the graph
        outputs INTEGER outputs of the graph
    """ + _SITE)),
    "host_sync": Table("reads of device values by the host, by step and call site",
                       "steps.jsonl", _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index that they happened before
        tail BOOLEAN after the last barrier
        kind VARCHAR item, bool, float, int, index, repr, format, tolist, numpy, cpu, to, wait, …
        closure BOOLEAN in a step closure, which torch_xla runs after the barrier
        count INTEGER how many
        duration_ns BIGINT time that the host was blocked, compilation not counted
        compile_ns BIGINT compilation that they caused
    """ + _SITE)),
    "data_wait": Table("waiting for the next batch", "steps.jsonl",
                       _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index
        count INTEGER batches
        duration_ns BIGINT time waited
    """)),
    "transfer": Table("a shape that a call site sent to the device for the first time",
                      "steps.jsonl", _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index
        direction VARCHAR to_device
        shape BIGINT[] dimensions
        dtype VARCHAR element type, as HLO text writes it
    """ + _SITE)),
    "upload": Table("tensors sent to the device, by step and call site", "steps.jsonl",
                    _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index that they were sent before
        tail BOOLEAN after the last barrier
        count INTEGER tensors
        bytes BIGINT their size
        duration_ns BIGINT time that the host took
    """ + _SITE)),
    "state_save": Table("checkpoints saved (torch.save, xm.save …), by step and call site",
                        "steps.jsonl", _columns(_PROCESS + _THREAD + """
        step INTEGER barrier index that they were saved before
        tail BOOLEAN after the last barrier
        count INTEGER how many
        duration_ns BIGINT time taken, compilation not counted
    """ + _SITE)),
    "fallback": Table("operators seen falling back to the CPU in probe steps", "call_sites.json",
                      _columns(_PROCESS + """
        op VARCHAR operator, as its counter is named
        count INTEGER times seen
        duration_ns BIGINT time in it, compilation not counted
        compile_ns BIGINT compilation that it caused
    """ + _SITE)),
    "fallback_count": Table("how often operators fell back, by when it was counted", "steps.jsonl",
                            _columns(_PROCESS + """
        step INTEGER barrier index
        tail BOOLEAN after the last barrier
        name VARCHAR counter: the operator, or aten::_local_scalar_dense for scalar reads
        value BIGINT increase since the last count
    """)),
    "timeline": Table("a captured timeline (an XSpace)", ".xplane.pb", _columns(_PROCESS + """
        host VARCHAR name of the machine, as the timeline or its file says
        file VARCHAR path of the file
        begin_ns BIGINT start of the profile
        end_ns BIGINT end of its last event
        planes INTEGER number of planes
        lines INTEGER number of lines
        events BIGINT number of events
        bytes BIGINT size of the file
        complete BOOLEAN whether all of it could be read
        steps_from VARCHAR what told the steps: StepMarker, StepTrace, Steps, executions, or NULL
    """)),
    "plane": Table("a plane of the timeline: a host, a device, or what goes with them",
                   ".xplane.pb", _columns(_PROCESS + """
        plane INTEGER number of the plane in its file
        name VARCHAR name, as /host:CPU or /device:TPU:0
        kind VARCHAR host, device, metadata or other
    """)),
    "line": Table("a line of a plane: a thread, a stream, or a view of the device", ".xplane.pb",
                  _columns(_PROCESS + """
        line INTEGER number of the line in its file
        plane INTEGER number of its plane
        id BIGINT id that the profiler gave it
        name VARCHAR name of the thread or stream
        main BOOLEAN the thread that ran the loop
        begin_ns BIGINT its origin
        events BIGINT number of events
    """)),
    "event": Table("an event of the timeline, with stats of its own or of its metadata; large,"
                   " decoded when a query names it", ".xplane.pb",
                   _columns(_PROCESS + """
        event BIGINT number of the event in its file
        line INTEGER number of its line
        plane INTEGER number of its plane
        name VARCHAR name of the event
        start_ns BIGINT when it began
        duration_ns BIGINT how long it took
        depth INTEGER events of the same line that were open when it began
        self_ns BIGINT duration without that of the events inside it
        step INTEGER step that it began in, as in timeline_step
        occurrences BIGINT how many events it sums up, where it does
        graph_hash VARCHAR stat: graph of a compilation
        hlo_module VARCHAR stat: module that was executed
        hlo_op VARCHAR stat: instruction of the module, or the short name of a device's event
        program_id BIGINT stat: number of the program, its 64 bits taken as signed
        op VARCHAR stat: operation, as the framework names it
        file VARCHAR stat: source file
        file_line BIGINT stat: line in it
        flow_out BIGINT stat _p: the flow that begins here
        flow_in BIGINT stat _c: the flow that arrives here
        flow_out_type BIGINT stat _pt: kind of that flow
        flow_in_type BIGINT stat _ct: kind of that flow
    """)),
    "event_stat": Table("every stat of every event; large, decoded when a query names it",
                        ".xplane.pb", _columns(_PROCESS + """
        event BIGINT number of the event
        name VARCHAR name of the stat
        kind VARCHAR double, uint64, int64, str, bytes or ref
        value VARCHAR its value as text; bytes as their number
        number DOUBLE its value where it is one
    """)),
    "timeline_step": Table("a step of the timeline, and what the thread of the loop did in it; the"
                           " parts exclude each other and add up to the duration", "derived",
                           _columns(_PROCESS + """
        step INTEGER index of the barrier in table step where it could be joined, else a number
        joined BOOLEAN whether it could
        steady BOOLEAN without compilation, after the first three
        begin_ns BIGINT its begin
        end_ns BIGINT its end
        duration_ns BIGINT time between
        compile_ns BIGINT compiling
        wait_ns BIGINT waiting for the device, or running its work on this thread
        upload_ns BIGINT sending tensors to the device
        input_ns BIGINT waiting for the next batch
        save_ns BIGINT saving checkpoints
        dispatch_ns BIGINT handing graphs to the device
        tracing_ns BIGINT Python by the share of tracing in all host samples, not of this step alone
        other_ns BIGINT other Python (with tracing, where no samples tell them apart)
    """)),
    "host_segment": Table("what the thread of the loop (and autograd's, while that waits) did, in"
                          " program order without gaps", "derived", _columns(_PROCESS + """
        segment INTEGER number of the segment, from 0
        step INTEGER step that it lies in, as in timeline_step
        activity VARCHAR compile, wait, upload, input, save, dispatch or python
        region VARCHAR call it is part of: barrier, read, input, save, upload; cut: of an operator
        call INTEGER number of that call
        begin_ns BIGINT its begin
        duration_ns BIGINT its length
        launches INTEGER execution that is launched at its end
        awaits INTEGER last execution that had ended when this wait ended
        file VARCHAR path of the line that calls
        line INTEGER that line
    """)),
    "device_execution": Table("a graph that the thread of the loop launched, as the busiest device"
                              " ran it", "derived", _columns(_PROCESS + """
        execution INTEGER number of the execution, from 0, in the order of launching
        device INTEGER number of the device
        launched_ns BIGINT when the host had handed it over
        begin_ns BIGINT when the device began with it
        end_ns BIGINT when it had ended
    """)),
    "device": Table("a device in the timeline", "derived", _columns(_PROCESS + """
        device INTEGER number of the device in its process, from 0
        name VARCHAR name of its plane; /host:CPU for the CPU client's threads
        kind VARCHAR CPU, GPU, TPU or other
        begin_ns BIGINT begin of the first step, or of its first event
        end_ns BIGINT end of the last step, or of its last event
        busy_ns BIGINT time between in which it ran anything
        idle_ns BIGINT the rest
    """)),
    "device_step": Table("a device in a step: busy, and what the thread of the loop did while it"
                         " was idle; the parts add up to the step", "derived",
                         _columns(_PROCESS + """
        device INTEGER number of the device
        step INTEGER step, as in timeline_step
        busy_ns BIGINT it ran something
        idle_ns BIGINT it ran nothing
        idle_compile_ns BIGINT meanwhile the host compiled
        idle_wait_ns BIGINT meanwhile the host waited for the device: hand-over, results on the way
        idle_upload_ns BIGINT meanwhile the host sent tensors
        idle_input_ns BIGINT meanwhile the host waited for the next batch
        idle_save_ns BIGINT meanwhile the host saved a checkpoint
        idle_dispatch_ns BIGINT meanwhile the host handed over graphs
        idle_tracing_ns BIGINT meanwhile Python built the graph, estimated; NULL without samples
        idle_other_ns BIGINT meanwhile other Python ran
    """)),
    "idle_gap": Table("a stretch in which a device ran nothing", "derived", _columns(_PROCESS + """
        device INTEGER number of the device
        step INTEGER step that it began in
        begin_ns BIGINT its begin
        duration_ns BIGINT its length
        reason VARCHAR what the host did for most of it: as in device_step, or python
        reason_ns BIGINT how long it did
    """)),
    "device_op": Table("an operation of a module on a device, all its executions together",
                       "derived", _columns(_PROCESS + """
        device INTEGER number of the device
        hlo_module VARCHAR module
        hlo_op VARCHAR instruction; the event's name where there is no HLO
        count BIGINT executions
        duration_ns BIGINT time in it
        self_ns BIGINT time in it, what ran inside it not counted
    """)),
    "host_sample": Table("where Python was in the loop, and in the threads that make its batches",
                         "host_samples.json",
                         _columns(_PROCESS + _THREAD + """
        main BOOLEAN whether it is the main thread
        doing VARCHAR batch (waiting for or making the next one), barrier, read, save, or NULL
        torch BOOLEAN inside a function of torch or torch_xla
        tracing BOOLEAN inside one, or at a line that the graphs' instructions come from
        count BIGINT samples
    """ + _SITE)),
    "hlo_module": Table("a module compiled inside the timeline's window", ".xplane.pb",
                        _columns(_PROCESS + """
        program_id BIGINT number of the program
        name VARCHAR name of the module
        graph_hash VARCHAR hash of its graph, where it could be joined
        instructions INTEGER instructions in all computations, after optimization
        donated BIGINT[] parameters whose memory the results may take
        devices BIGINT[] devices that it was compiled for, where the module says so
        sharding VARCHAR digest of the shardings of parameters and results; NULL without any
    """)),
    "hlo_instruction": Table("an instruction of such a module, after optimization", ".xplane.pb",
                             _columns(_PROCESS + """
        program_id BIGINT number of the program
        graph_hash VARCHAR hash of its graph
        computation VARCHAR name of the computation it stands in
        entry BOOLEAN whether that is the entry computation
        root BOOLEAN whether it is the result of its computation
        id BIGINT number of the instruction in its module
        name VARCHAR its name
        opcode VARCHAR its operation
        type VARCHAR element type, as HLO text writes it; tuple for tuples
        shape BIGINT[] dimensions
        layout BIGINT[] dimensions from minor to major
        operands BIGINT[] numbers of its operands
        parameter INTEGER position of the parameter, if it is one
        literal VARCHAR value of a constant of at most 16 elements
        attributes VARCHAR bounds, dimensions, padding and the like, as HLO text prints them
        op_type VARCHAR operation of the framework that it comes from
        op_name VARCHAR its name with scopes
        frame INTEGER innermost frame of its Python stack in hlo_frame, where known
    """ + _SITE)),
    "hlo_frame": Table("a Python frame that instructions come from; stacks by way of `parent`",
                       ".xplane.pb", _columns(_PROCESS + """
        program_id BIGINT number of the program
        frame INTEGER number of the frame in its module, from 1
        parent INTEGER number of the caller's frame; 0 for none
        file VARCHAR path
        line INTEGER line, from 1
        function VARCHAR function
    """)),
    "hlo_parameter": Table("an entry parameter of such a module", ".xplane.pb",
                           _columns(_PROCESS + """
        program_id BIGINT number of the program
        graph_hash VARCHAR hash of its graph
        number INTEGER position of the parameter
        shape BIGINT[] dimensions
        layout BIGINT[] dimensions from minor to major
        type VARCHAR element type, as HLO text writes it
        op VARCHAR operation that made it: xla__device_data for all tensors on the device
        sent BOOLEAN the line sent it to the device; else it is the first use in this graph
    """ + _SITE)),
    "source_line": Table("text of the named lines as they ran", "call_sites.json", _columns("""
        file VARCHAR path
        line INTEGER line, from 1
        text VARCHAR its text
    """)),
    "recompilation": Table("why a call site compiled again: its graph against the most similar one"
                           " that it compiled before", "derived", _columns(_PROCESS + """
        index INTEGER number of the compilation
        against INTEGER number of the earlier compilation
        kind VARCHAR as in docs/recompilation.md: input_shape, constant, operations, evicted, …
        basis VARCHAR hlo (modules compared), upload (a new shape was sent in that step), log, hash
        parameter INTEGER entry parameter that changed
        was VARCHAR what it was: type and dimensions, a number, an instruction, a count
        now VARCHAR what it is
        dimension INTEGER first dimension that differs
        value BIGINT its size in this graph
        op VARCHAR operation of the framework that differs; for placement what does
        role VARCHAR made, or used: a tensor that was there before shows where it is first used
        file VARCHAR file of the line that makes the difference
        line INTEGER that line
        function VARCHAR function that it is in
        user_file VARCHAR path of the user's line that led there, where it is a library's
        user_line INTEGER that line
        user_function VARCHAR function that it is in
        pattern VARCHAR grows, last_batch or varies: how the sizes or counts go on
        seen INTEGER sizes seen in that dimension
        possible INTEGER sizes in their range, with the steps between them
    """)),
    "graph_change": Table("an operation of a Python line that differs between a compilation and the"
                          " one it is compared with, in the order of lowering", "derived",
                          _columns(_PROCESS + """
        index INTEGER number of the compilation
        nth INTEGER order, from 0
        nature VARCHAR added, removed, value (another number), shape, or count
        file VARCHAR file
        line INTEGER line
        function VARCHAR function that the line is in
        user_file VARCHAR path of the user's line that led there, where it is a library's
        user_line INTEGER that line
        user_function VARCHAR function that it is in
        op VARCHAR operation of the framework, as aten::pow
        was VARCHAR instructions that the earlier graph alone has, a line each
        now VARCHAR instructions that this one alone has
        was_count INTEGER how many such instructions the earlier graph has
        now_count INTEGER and this one
    """)),
}  # fmt: skip
