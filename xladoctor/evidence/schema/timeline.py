"""Timelines: what they hold, and what is derived from them."""

from __future__ import annotations

from xladoctor.evidence.schema.table import PROCESS, SITE, THREAD, Table, columns

TIMELINE: dict[str, Table] = {
    "timeline": Table(
        "a captured timeline (an XSpace)",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        host VARCHAR name of the machine, as the timeline or its file says
        pid BIGINT id of the process, where the timeline says it
        rank INTEGER rank in a distributed job, where the timeline or its name says it
        file VARCHAR path of the file
        begin_ns BIGINT start of the profile
        end_ns BIGINT end of its last event
        planes INTEGER number of planes
        lines INTEGER number of lines
        events BIGINT number of events
        bytes BIGINT size of the file
        complete BOOLEAN whether all of it could be read
        steps_from VARCHAR what marked steps: StepMarker, executions …; span: all is one; or NULL
        frontend VARCHAR framework whose events or compiled functions are in it, if any
        not_understood VARCHAR what drives the device, where its calls are not understood; or NULL
    """
        ),
    ),
    "plane": Table(
        "a plane of the timeline: a host, a device, or what goes with them",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        plane INTEGER number of the plane in its file
        name VARCHAR name, as /host:CPU or /device:TPU:0
        kind VARCHAR host, device, metadata or other
    """
        ),
    ),
    "line": Table(
        "a line of a plane: a thread, a stream, or a view of the device",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        line INTEGER number of the line in its file
        plane INTEGER number of its plane
        id BIGINT id that the profiler gave it
        name VARCHAR name of the thread or stream
        main BOOLEAN the thread that ran the loop
        begin_ns BIGINT its origin
        events BIGINT number of events
    """
        ),
    ),
    "event": Table(
        "an event of the timeline, with its own stats or its metadata's; large,"
        " decoded when a query names it",
        ".xplane.pb",
        columns(
            PROCESS
            + """
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
    """
        ),
    ),
    "event_stat": Table(
        "every stat of every event; large, decoded when a query names it",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        event BIGINT number of the event
        name VARCHAR name of the stat
        kind VARCHAR double, uint64, int64, str, bytes or ref
        value VARCHAR its value as text; bytes as their number
        number DOUBLE its value where it is one
    """
        ),
    ),
    "timeline_step": Table(
        "a step of the timeline, and what the loop's thread did in it; the"
        " parts exclude each other and add up to the duration",
        "derived",
        columns(
            PROCESS
            + """
        step INTEGER index of the barrier in table step where it could be joined, else a number
        joined BOOLEAN whether it could
        steady BOOLEAN without compilation, after those of warm-up
        begin_ns BIGINT its start
        end_ns BIGINT its end
        duration_ns BIGINT time between
        compile_ns BIGINT compiling
        wait_ns BIGINT waiting for the device, or running its work on this thread
        upload_ns BIGINT sending tensors to the device
        input_ns BIGINT waiting for the next batch
        save_ns BIGINT saving checkpoints
        dispatch_ns BIGINT handing graphs to the device
        tracing_ns BIGINT Python, by the share of tracing in all host samples, not just this step's
        unrecorded_ns BIGINT not recorded: nothing tells what the host did
        other_ns BIGINT other Python (with tracing, if no samples tell them apart)
    """
        ),
    ),
    "host_segment": Table(
        "what the loop's thread (and autograd's, while it waits) did, in"
        " program order without gaps",
        "derived",
        columns(
            PROCESS
            + """
        segment INTEGER number of the segment, from 0
        step INTEGER step that it lies in, as in timeline_step
        activity VARCHAR compile, wait, upload, input, save, dispatch or python
        region VARCHAR call it is part of: barrier, read, input, save, upload; cut: of an operator
        call INTEGER number of that call
        begin_ns BIGINT its start
        duration_ns BIGINT its length
        launches INTEGER execution that is launched at its end
        awaits INTEGER last execution that had ended when this wait ended
        file VARCHAR path of the calling line
        line INTEGER that line
    """
        ),
    ),
    "region": Table(
        "a label that the program put around a part of its loop, each time that it was there",
        "derived",
        columns(
            PROCESS
            + """
        region INTEGER number of the region, from 0, in order of time
        parent INTEGER region that it lies in
        name VARCHAR its label
        path VARCHAR the labels that it lies in and its own, the outermost first
        step INTEGER step that it began in, as in timeline_step
        begin_ns BIGINT its start
        duration_ns BIGINT host time in it
        self_ns BIGINT the same without that of regions inside it
        barriers BIGINT barriers in it and in no label inside it; not a step's own
        launches INTEGER graphs that were launched in it
        device_ns BIGINT how long the device ran these
        idle_ns BIGINT how long the device ran nothing meanwhile
    """
        ),
    ),
    "compiled_part": Table(
        "a call of a part of a compiled function, which graph breaks make of it",
        "derived",
        columns(
            PROCESS
            + """
        compile_id VARCHAR number that the compiler gave it, as 0/1: function and version
        step INTEGER step that it began in, as in timeline_step
        begin_ns BIGINT its start
        duration_ns BIGINT host time in it, later parts that it calls included
    """
        ),
    ),
    "split_call": Table(
        "a compiled part that begins within calls of another, as what follows a graph break does",
        "derived",
        columns(
            PROCESS
            + """
        frame VARCHAR the function that is called, by the number that its compile_ids begin with
        compiled VARCHAR its name, where Python functions are recorded
        parts VARCHAR compile_ids of the parts in most of these calls, in order, as 0/0 > 1/0
        part VARCHAR the later part, by the number that its compile_ids begin with
        count BIGINT calls of the function that lead to it
        between_ns BIGINT median host time since the last graph ended, without compiling
        operators_ns BIGINT the same of operators called one by one
    """
            + SITE
        ),
    ),
    "device_execution": Table(
        "a graph that the loop's thread launched, as the busiest device ran it",
        "derived",
        columns(
            PROCESS
            + """
        execution INTEGER number of the execution, from 0, in the order of launching
        device INTEGER number of the device
        launched_ns BIGINT when the host had handed it over
        begin_ns BIGINT when the device began it; after the timeline's end, as it would have
        end_ns BIGINT when it had ended; after the timeline's end, as its program's usually do
    """
        ),
    ),
    "device": Table(
        "a device in the timeline",
        "derived",
        columns(
            PROCESS
            + """
        device INTEGER number of the device in its process, from 0
        name VARCHAR name of its plane; /host:CPU for the CPU client's threads
        kind VARCHAR CPU, GPU, TPU or other
        begin_ns BIGINT start of the first step, or of its first event
        end_ns BIGINT end of the last step, or of its last event
        busy_ns BIGINT time in between that it ran anything
        idle_ns BIGINT the rest
    """
        ),
    ),
    "device_step": Table(
        "a device in a step: busy, and what the loop's thread did while it"
        " was idle; the parts add up to the step",
        "derived",
        columns(
            PROCESS
            + """
        device INTEGER number of the device
        step INTEGER step, as in timeline_step
        busy_ns BIGINT it ran something
        idle_ns BIGINT it ran nothing
        idle_compile_ns BIGINT meanwhile the host compiled
        idle_wait_ns BIGINT meanwhile the host waited for the device: hand-over, results in transit
        idle_upload_ns BIGINT meanwhile the host sent tensors
        idle_input_ns BIGINT meanwhile the host waited for the next batch
        idle_save_ns BIGINT meanwhile the host saved a checkpoint
        idle_dispatch_ns BIGINT meanwhile the host handed over graphs
        idle_tracing_ns BIGINT meanwhile Python built the graph, estimated; NULL without samples
        idle_unrecorded_ns BIGINT meanwhile nothing tells what the host did
        idle_other_ns BIGINT meanwhile other Python ran
        collective_ns BIGINT it ran collectives and nothing else; NULL where none are named
    """
        ),
    ),
    "idle_gap": Table(
        "a stretch in which a device ran nothing",
        "derived",
        columns(
            PROCESS
            + """
        device INTEGER number of the device
        step INTEGER step that it began in
        begin_ns BIGINT its start
        duration_ns BIGINT its length
        reason VARCHAR what the host did for most of it: as in device_step, or python
        reason_ns BIGINT how long it did
    """
            + SITE
        ),
    ),
    "device_op": Table(
        "an operation of a module on a device, all its executions together",
        "derived",
        columns(
            PROCESS
            + """
        device INTEGER number of the device
        hlo_module VARCHAR module
        hlo_op VARCHAR instruction; the event's name where there is no HLO
        count BIGINT executions
        duration_ns BIGINT time in it
        self_ns BIGINT time in it, without what ran inside it
    """
        ),
    ),
    "device_launch": Table(
        "kernels of a device in a step by how they were launched, where the"
        " timeline joins calls with what they led to",
        "derived",
        columns(
            PROCESS
            + """
        device INTEGER number of the device
        step INTEGER step that they began in
        how VARCHAR graph: in a recorded graph (CUDA graphs); call: by itself; NULL: not known
        kernels BIGINT how many; copies are none
        calls BIGINT calls that launched them
    """
        ),
    ),
    "kernel_site": Table(
        "a function of the program that asked for an operation of a device, or"
        " for what that is the gradient of, where Python was recorded",
        "derived",
        columns(
            PROCESS
            + """
        hlo_op VARCHAR name of the operation, as in device_op
        file VARCHAR file of the function, as the profiler names it
        line BIGINT line at which it begins
        function VARCHAR its name
        share DOUBLE of the operation's time; of very many, of those looked at
    """
        ),
    ),
    "host_op": Table(
        "what the host ran by name in a step, all of one name together, where the"
        " timeline joins it with what it launched",
        "derived",
        columns(
            PROCESS
            + """
        step INTEGER step that it began in
        name VARCHAR operator, call of the device's runtime, or label
        count BIGINT how often
        duration_ns BIGINT time in it
        self_ns BIGINT time in it, without what ran inside it
        launches BIGINT operations of devices that it led to, what ran inside it included
        device_ns BIGINT how long these ran
    """
        ),
    ),
    "eager_op": Table(
        "an operator that the loop called outside of compiled functions in a step,"
        " all calls of one name and place together, where it calls such functions;"
        " without what makes batches",
        "derived",
        columns(
            PROCESS
            + """
        step INTEGER step that it began in
        place VARCHAR where: optimizer, backward, or else loop
        name VARCHAR name of the outermost operator
        count BIGINT how often
        duration_ns BIGINT time in it
        launches INTEGER operations of devices that it led to, where the timeline joins these
        device_ns BIGINT how long these ran
    """
        ),
    ),
    "host_sample": Table(
        "where Python was in the threads that run the loop or make its batches",
        "host_samples.json",
        columns(
            PROCESS
            + """
        phase VARCHAR warmup, loop, or after (no iteration ended after it)
    """
            + THREAD
            + """
        main BOOLEAN whether it is the main thread
        doing VARCHAR batch (waiting for or making the next), barrier, read, save, compile
        in_framework BOOLEAN inside a framework function
        tracing BOOLEAN inside one, or at a line that the graphs' instructions come from
        generator BOOLEAN inside a generator function of the program's own, or what one has called
        count BIGINT samples
    """
            + SITE
        ),
    ),
}
