"""What the host and the devices did: derived from timelines, and sampled."""

from typing import Annotated

from xladoctor.facts.files import TIMELINE_FILES
from xladoctor.recording.bootstrap._xladoctor.facts import (
    Duration,
    Fact,
    Instant,
    Number,
    Site,
    Size,
    ThreadId,
    derived,
)


class _Derived(Fact, source="derived", files=TIMELINE_FILES): ...


class TimelineStep(
    _Derived,
    example="SELECT step, duration_ns, wait_ns, tracing_ns FROM timeline_step WHERE steady",
    kept=True,
):
    """A step of the timeline, and what the loop's thread did in it; the parts exclude each
    other and add up to the duration.
    """

    step: Annotated[
        Number, "index of the barrier in table step where it could be joined, else a number"
    ]
    joined: Annotated[bool, "whether it could"]
    steady: Annotated[bool, "without compilation, after those of warm-up"]
    begin_ns: Annotated[Instant, "its start"]
    end_ns: Annotated[Instant, "its end"]
    duration_ns: Annotated[Duration, "time between"]
    compile_ns: Annotated[Duration, "compiling"]
    wait_ns: Annotated[Duration, "waiting for the device, or running its work on this thread"]
    upload_ns: Annotated[Duration, "sending tensors to the device"]
    input_ns: Annotated[Duration, "waiting for the next batch"]
    save_ns: Annotated[Duration, "saving checkpoints"]
    dispatch_ns: Annotated[Duration, "handing graphs to the device"]
    collective_ns: Annotated[Duration, "waiting on this thread for other processes"]
    tracing_ns: Annotated[
        Duration, "Python, by the share of tracing in all host samples, not just this step's"
    ]
    unrecorded_ns: Annotated[Duration, "not recorded: it is unknown what the host did"]
    other_ns: Annotated[Duration, "other Python (with tracing, if no samples distinguish them)"]


class HostSegment(
    _Derived, example="SELECT activity, sum(duration_ns) AS ns FROM host_segment GROUP BY activity"
):
    """What the loop's thread (and autograd's, while it waits) did, in program order without
    gaps.
    """

    segment: Annotated[Number, "number of the segment, from 0"]
    step: Annotated[Number, "step that it lies in, as in timeline_step"]
    activity: Annotated[str, "compile, wait, upload, input, save, dispatch or python"]
    region: Annotated[
        str, "call it is part of: barrier, read, input, save, upload; cut: of an operator"
    ]
    call: Annotated[Number, "number of that call"]
    begin_ns: Annotated[Instant, "its start"]
    duration_ns: Annotated[Duration, "its length"]
    launches: Annotated[Number, "execution that is launched at its end"]
    awaits: Annotated[Number, "last execution that had ended when this wait ended"]
    file: Annotated[str, "path of the calling line"]
    line: Annotated[Number, "that line"]


class Region(_Derived, example="SELECT path, sum(self_ns) AS ns FROM region GROUP BY path"):
    """A label that the program put around a part of its loop, each time that it was there."""

    region: Annotated[Number, "number of the region, from 0, in order of time"]
    parent: Annotated[Number, "region that it lies in"]
    name: Annotated[str, "its label"]
    path: Annotated[str, "the labels that it lies in and its own, the outermost first"]
    step: Annotated[Number, "step that it began in, as in timeline_step"]
    begin_ns: Annotated[Instant, "its start"]
    duration_ns: Annotated[Duration, "host time in it"]
    self_ns: Annotated[Duration, "the same without that of regions inside it"]
    barriers: Annotated[int, "barriers in it and in no label inside it; not a step's own"]
    launches: Annotated[Number, "graphs that were launched in it"]
    device_ns: Annotated[Duration, "how long the device ran these"]
    idle_ns: Annotated[Duration, "how long the device ran nothing meanwhile"]


class CompiledPart(
    _Derived,
    example="SELECT compile_id, avg(duration_ns) AS ns FROM compiled_part GROUP BY compile_id",
):
    """A call of a part of a compiled function, which graph breaks make of it."""

    compile_id: Annotated[str, "number that the compiler gave it, as 0/1: function and version"]
    step: Annotated[Number, "step that it began in, as in timeline_step"]
    begin_ns: Annotated[Instant, "its start"]
    duration_ns: Annotated[Duration, "host time in it, later parts that it calls included"]


class SplitCall(_Derived, example="SELECT frame, parts, part, count, between_ns FROM split_call"):
    """A compiled part that begins within calls of another, as what follows a graph break does."""

    frame: Annotated[
        str, "the function that is called, by the number that its compile_ids begin with"
    ]
    compiled: Annotated[str, "its name, where Python functions are recorded"]
    parts: Annotated[str, "compile_ids of the parts in most of these calls, in order, as 0/0 > 1/0"]
    part: Annotated[str, "the later part, by the number that its compile_ids begin with"]
    count: Annotated[int, "calls of the function that lead to it"]
    between_ns: Annotated[
        Duration, "median host time since the last graph ended, without compiling"
    ]
    operators_ns: Annotated[Duration, "the same of operators called one by one"]
    site: Site


class DeviceExecution(
    _Derived, example="SELECT execution, begin_ns - launched_ns AS queued_ns FROM device_execution"
):
    """A graph that the loop's thread launched, as the busiest device ran it."""

    execution: Annotated[Number, "number of the execution, from 0, in the order of launching"]
    device: Annotated[Number, "number of the device"]
    launched_ns: Annotated[Instant, "when the host had launched it"]
    begin_ns: Annotated[
        Instant, "when the device began it; after the timeline's end, as it would have"
    ]
    end_ns: Annotated[
        Instant, "when it had ended; after the timeline's end, as its program's usually do"
    ]


class Device(
    _Derived, example="SELECT name, busy_ns / (busy_ns + idle_ns) AS busy FROM device", kept=True
):
    """A device in the timeline."""

    device: Annotated[Number, "number of the device in its process, from 0"]
    name: Annotated[str, "name of its plane; /host:CPU for the CPU client's threads"]
    kind: Annotated[str, "CPU, GPU, TPU or other"]
    begin_ns: Annotated[Instant, "start of the first step, or of its first event"]
    end_ns: Annotated[Instant, "end of the last step, or of its last event"]
    busy_ns: Annotated[Duration, "time in between that it ran anything"]
    idle_ns: Annotated[Duration, "the rest"]
    peak_bytes: Annotated[Size | None, "the most of its memory that was ever in use, of a TPU"] = (
        None
    )
    memory_bytes: Annotated[Size | None, "all of its memory"] = None


class DeviceStep(
    _Derived, example="SELECT step, busy_ns, idle_input_ns FROM device_step", kept=True
):
    """A device in a step: busy, and what the loop's thread did while it was idle; the parts add
    up to the step.
    """

    device: Annotated[Number, "number of the device"]
    step: Annotated[Number, "step, as in timeline_step"]
    busy_ns: Annotated[Duration, "it ran something"]
    idle_ns: Annotated[Duration, "it ran nothing"]
    idle_compile_ns: Annotated[Duration, "meanwhile the host compiled"]
    idle_wait_ns: Annotated[
        Duration, "meanwhile the host waited for the device: hand-over, results in transit"
    ]
    idle_upload_ns: Annotated[Duration, "meanwhile the host sent tensors"]
    idle_input_ns: Annotated[Duration, "meanwhile the host waited for the next batch"]
    idle_save_ns: Annotated[Duration, "meanwhile the host saved a checkpoint"]
    idle_dispatch_ns: Annotated[Duration, "meanwhile the host launched graphs"]
    idle_collective_ns: Annotated[Duration, "meanwhile the host waited for other processes"]
    idle_tracing_ns: Annotated[
        Duration, "meanwhile Python built the graph, estimated; NULL without samples"
    ]
    idle_unrecorded_ns: Annotated[Duration, "meanwhile it is unknown what the host did"]
    idle_other_ns: Annotated[Duration, "meanwhile other Python ran"]
    collective_ns: Annotated[
        Duration, "it ran collectives and nothing else; NULL where none are named"
    ]


class IdleGap(
    _Derived, example="SELECT reason, sum(duration_ns) AS ns FROM idle_gap GROUP BY reason"
):
    """A stretch in which a device ran nothing."""

    device: Annotated[Number, "number of the device"]
    step: Annotated[Number, "step that it began in"]
    begin_ns: Annotated[Instant, "its start"]
    duration_ns: Annotated[Duration, "its length"]
    reason: Annotated[str, "what the host did for most of it: as in device_step, or python"]
    reason_ns: Annotated[Duration, "how long it did"]
    site: Site


class DeviceOp(
    _Derived, example="SELECT hlo_op, count, self_ns FROM device_op ORDER BY self_ns DESC LIMIT 10"
):
    """An operation of a module on a device, all its executions together."""

    device: Annotated[Number, "number of the device"]
    hlo_module: Annotated[str, "module"]
    hlo_op: Annotated[str, "instruction; the event's name where there is no HLO"]
    count: Annotated[int, "executions"]
    duration_ns: Annotated[Duration, "time in it"]
    self_ns: Annotated[Duration, "time in it, without what ran inside it"]


class Collective(
    _Derived,
    example="SELECT hlo_op, sum(duration_ns) AS ns FROM collective GROUP BY hlo_op ORDER BY 2 DESC",
    kept=True,
):
    """A collective operation of a device in a step, all its executions there together. Of one that
    is begun early, the wait for its end counts.
    """

    device: Annotated[Number, "number of the device"]
    step: Annotated[Number, "step that they began in"]
    hlo_op: Annotated[str, "name of the operation, as in device_op"]
    count: Annotated[int, "executions"]
    duration_ns: Annotated[Duration, "time in it: the exchange, and the wait for other devices"]
    begin_ns: Annotated[Instant, "when the first began"]
    end_ns: Annotated[Instant, "when the last ended, which is about the same on all its devices"]


class DeviceLaunch(
    _Derived, example="SELECT how, sum(kernels), sum(calls) FROM device_launch GROUP BY how"
):
    """Kernels of a device in a step by how they were launched, where the timeline joins calls
    with what they led to.
    """

    device: Annotated[Number, "number of the device"]
    step: Annotated[Number, "step that they began in"]
    how: Annotated[
        str, "graph: in a recorded graph (CUDA graphs); call: separately; NULL: not known"
    ]
    kernels: Annotated[int, "how many; copies are none"]
    calls: Annotated[int, "calls that launched them"]


class KernelSite(_Derived, example="SELECT hlo_op, file, line FROM kernel_site WHERE share > 0.5"):
    """A function of the program that asked for an operation of a device, or for what that is
    the gradient of, where Python was recorded.
    """

    hlo_op: Annotated[str, "name of the operation, as in device_op"]
    file: Annotated[str, "file of the function, as the profiler names it"]
    line: Annotated[int, "line at which it begins"]
    function: Annotated[str, "its name"]
    share: Annotated[float, "of the operation's time; of very many, of those looked at"]


class HostOp(
    _Derived,
    example="SELECT name, sum(launches) FROM host_op GROUP BY name ORDER BY 2 DESC LIMIT 10",
):
    """What the host ran by name in a step, all of one name together, where the timeline joins
    it with what it launched.
    """

    step: Annotated[Number, "step that it began in"]
    name: Annotated[str, "operator, call of the device's runtime, or label"]
    count: Annotated[int, "how often"]
    duration_ns: Annotated[Duration, "time in it"]
    self_ns: Annotated[Duration, "time in it, without what ran inside it"]
    launches: Annotated[int, "operations of devices that it led to, what ran inside it included"]
    device_ns: Annotated[Duration, "how long these ran"]


class EagerOp(
    _Derived,
    example="SELECT place, name, sum(duration_ns) FROM eager_op GROUP BY ALL ORDER BY 3 DESC",
):
    """An operator that the loop called outside of compiled functions in a step, all calls of
    one name and place together, where it calls such functions; without what makes batches.
    """

    step: Annotated[Number, "step that it began in"]
    place: Annotated[str, "where: optimizer, backward, or else loop"]
    name: Annotated[str, "name of the outermost operator"]
    count: Annotated[int, "how often"]
    duration_ns: Annotated[Duration, "time in it"]
    launches: Annotated[
        Number, "operations of devices that it led to, where the timeline joins these"
    ]
    device_ns: Annotated[Duration, "how long these ran"]


class HostSample(
    Fact,
    source="host_samples.json",
    example="SELECT file, line, sum(count) AS samples FROM host_sample GROUP BY file, line",
):
    """Where Python was in the threads that run the loop or make its batches."""

    phase: Annotated[str, "warmup, loop, or after (no iteration ended after it)"] = "loop"
    thread: ThreadId
    main: Annotated[bool, "whether it is the main thread"]
    doing: Annotated[
        str | None, "batch (waiting for or making the next), barrier, read, save, compile"
    ]
    in_framework: Annotated[bool, "inside a framework function"]
    tracing: Annotated[bool, "inside one, or at a line that the graphs' instructions come from"] = (
        derived()
    )
    generator: Annotated[
        bool, "inside a generator function of the program's own, or what one has called"
    ] = False
    count: Annotated[Size, "samples"]
    site: Site


class StartUp(
    Fact,
    source="host_samples.json",
    example="SELECT what, package, line, duration_ns / 1e9 AS s FROM start_up ORDER BY s DESC",
):
    """What the main thread did from the start of the process until the program's first step had
    ended, by line of the program; measured for imports, otherwise estimated from its stack.
    """

    what: Annotated[
        str | None, "import, backend, tracing, compile, cache (reading it); NULL if none of these"
    ] = None
    package: Annotated[str | None, "the installed package that was imported"] = None
    duration_ns: Annotated[Duration, "how long; of imports, without those inside another"]
    read_bytes: Annotated[Size | None, "bytes that the process read meanwhile, as of files"] = None
    site: Site
