"""What the devices of a timeline did, as reports show it: operations, scopes, kernels, labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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


CudaGraphs = Literal["used", "partly used", "not used", "recorded", "recorded again"]


@dataclass(frozen=True, slots=True)
class Kernels:
    """How the kernels of a device were launched, in the steps of :class:`DeviceUse`.

    Attributes:
        cuda_graphs: whether they were parts of CUDA graphs (or HIP graphs): all, some or none;
            ``recorded``: graphs are made, but not launched; ``recorded again``: they are still made
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
        peak_bytes: the most of its memory that was ever in use; None if not recorded.
        memory_bytes: all of its memory.
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
    peak_bytes: int | None = None
    memory_bytes: int | None = None


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
