"""Timelines of pods, as JAX's profiler writes them on each host; made in place, never committed.

``write_pod(folder, Pod(hosts=16, sickness="input"))``. What happens is simulated
(:mod:`tests.pods.simulation`); the structure of planes and lines is that of
:mod:`tests.xspace.devices`, where its sources stand. The batch comes from tf.data, whose
``IteratorGetNextOp`` JAX's profiler records; Python functions as its Python tracer writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tests.pods.simulation import Exchange, Pod, Run, Span, Times, simulate
from tests.xspace import generated
from tests.xspace.builder import Line, Plane, Ref, Space, Unsigned

SESSION = "2026_11_28_09_30_00"
PROGRAM, OTHER = "jit_train_step", "jit_train_step_masked"
#: Where the true clock is zero, in nanoseconds of the wall clock.
EPOCH_NS = 1_795_858_200_000_000_000
_FINGERPRINT = 12_190_760_917_235_803_885  # beyond 63 bits
_PYTHON = -8_315_374_011_220_418_607
_FIRST_CALL = 1_000_000_000  # of the numbers that join calls with kernels, on a device
_LAUNCHING = 150.0  # for a device of a GPU's host
_TINY = 40.0  # what a device does that takes no part


def write_pod(folder: Path, pod: Pod) -> Run:
    """Write ``plugins/profile/SESSION/HOST.xplane.pb`` of each host; returns what happened."""
    run = simulate(pod)
    for host in range(pod.hosts):
        _write(folder, run, host)
    return run


def write_host(folder: Path, pod: Pod, host: int) -> int:
    """Write the timeline of one host, for pods that several processes make; returns its bytes."""
    return _write(folder, simulate(pod), host)


def _write(folder: Path, run: Run, host: int) -> int:
    session = folder / "plugins" / "profile" / SESSION
    session.mkdir(parents=True, exist_ok=True)
    return (session / f"{host_name(host)}.xplane.pb").write_bytes(timeline(run, host))


def host_name(host: int) -> str:
    """The name of a host: ``pod-w-3``."""
    return f"pod-w-{host}"


def timeline(run: Run, host: int) -> bytes:
    """The XSpace that a host's profiler writes."""
    space = Space(host_name(host))
    write = _tpu if run.pod.kind == "TPU" else _gpu
    for device in range(run.pod.devices):
        write(space, run, host, device)
    for version in np.unique(run.module[:, host]).tolist():
        name, program = program_of(run.pod, version)
        space.hlo(program, name, _hlo_proto(name, program), key=41 + version)
    _host(space, run, host)
    shown = run.clock.shown(host, np.array([run.clock.start[host], run.clock.stop[host]]))
    start, stop = (EPOCH_NS + round(1000 * float(instant)) for instant in shown)
    space.started_at(start, stop - start)
    return space.bytes()


def program_of(pod: Pod, version: int) -> tuple[str, int]:
    """The name of a version of the program, and its fingerprint. What is compiled again has the
    same name.
    """
    other = version and pod.sickness == "graph"
    return OTHER if other else PROGRAM, _FINGERPRINT + 7_919 * version


def _hlo_proto(name: str, program: int) -> bytes:
    module = generated.field(1, name) + generated.field(5, program)
    return generated.field(1, module)


# -- what a device runs ----------------------------------------------------------------------------


class Work:
    """What a device ran and its profile has.

    Attributes:
        names, span: of each operation, in order.
        place: its number among all that the device ran, whether its profile has them or not.
        number, version, steps: of each whole step: its number, which graph ran, and when.
    """

    def __init__(self, run: Run, host: int, device: int) -> None:
        operations = list(_operations(run, host, device))
        within = [name for name, _, _ in operations]
        began, ended = (np.stack([op[at] for op in operations], axis=1) for at in (1, 2))
        span = Span(began.ravel(), ended.ravel())
        self.place = np.flatnonzero(run.recorded(host, span))
        self.names = [within[place % len(within)] for place in self.place.tolist()]
        self.span = Span(*(each[self.place] for each in run.shown(host, span)))
        step = Span(began[:, 0], ended[:, -1])
        whole = run.recorded(host, step)
        self.steps = Span(*(each[whole] for each in run.shown(host, step)))
        self.version = run.module[:, host][whole]
        self.number = run.number[whole]


def _operations(run: Run, host: int, device: int) -> Iterator[tuple[str, Times, Times]]:
    """What a device runs in each step: names, and when each began and ended in all steps."""
    if not run.working[host, device]:
        begin = run.launched[:, host, device] + 50
        yield "copy.1", begin, begin + _TINY
        return
    first = 1
    for part, span in run.parts:
        begin, end = span.begin[:, host, device], span.end[:, host, device]
        if isinstance(part, Exchange):
            yield part.op, begin, end
            continue
        count = max(1, round(part.share * run.pod.ops))
        edges = _edges(count, run.pod.seed + first)
        for op, (since, until) in enumerate(pairwise(edges.tolist()), start=first):
            yield f"fusion.{op}", begin + since * (end - begin), begin + until * (end - begin)
        first += count


def _edges(count: int, seed: int) -> Times:
    """Where operations begin and end within a part, as shares of it."""
    random = np.random.default_rng(seed)
    lasted = random.lognormal(0, 0.7, count)
    return np.concatenate(([0.0], np.cumsum(lasted) / lasted.sum()))


def _tpu(space: Space, run: Run, host: int, device: int) -> None:
    plane = space.plane(
        f"/device:TPU:{device}",
        device_type_string="TPU v5 Lite",
        peak_teraflops_per_second=197.0,
        has_megacore=0,
    )
    work = Work(run, host, device)
    steps, modules, ops, asynchronous = (
        plane.line(name, number)
        for name, number in (
            ("Steps", 1),
            ("XLA Modules", 2),
            ("XLA Ops", 3),
            ("Async XLA Ops", 4),
        )
    )
    copy = "%copy-start = (f32[8]{0:T(128)S(5)}, f32[8]{0:T(128)}, u32[]{:S(2)}) copy-start(%p0)"
    plane.metadata(copy, display_name="async-copy", hlo_category="copy-start")
    for number, version, begin, end in _rows(work.number, work.version, *work.steps):
        if run.pod.annotated:
            steps.event(str(int(number)), begin, end - begin)
        name, program = program_of(run.pod, int(version))
        modules.event(
            f"{name}({program})",
            begin,
            end - begin,
            run_id=Unsigned(number),
            replica_id=run.pod.devices * host + device,
            _ct=12,
            _c=7_000 + int(number),
        )
        asynchronous.event(copy, begin + 2, 20, hlo_op="copy-done.1", id=Unsigned(number))
    texts = {name: _tpu_op(plane, name) for name in dict.fromkeys(work.names)}
    ops.events(
        [texts[name] for name in work.names],
        work.span.begin,
        work.span.end - work.span.begin,
        device_offset_ps=np.rint((work.span.begin + 70) * 1e6),
        device_duration_ps=np.rint((work.span.end - work.span.begin) * 1e6),
    )


def _tpu_op(plane: Plane, name: str) -> str:
    """The HLO text that is the operation's name, with what XLA knows of it."""
    kind = name.rsplit(".", 1)[0]
    text = f"%{name} = f32[8,128]{{1,0:T(8,128)}} {kind}(f32[8,128]{{1,0:T(8,128)}} %p0)"
    plane.metadata(
        text,
        display_name=name,
        hlo_category="convolution fusion" if kind == "fusion" else kind,
        program_id=Unsigned(_FINGERPRINT),
        flops=1 << 30,
        bytes_accessed=1 << 20,
        source="/home/ada/train.py:35",
        tf_op="jit(train_step)/jit(main)/dot_general:",
    )
    return text


_NCCL = {
    "all-reduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "collective-broadcast": "ncclDevKernel_Broadcast_RING_LL",
}


def _gpu(space: Space, run: Run, host: int, device: int) -> None:
    """Kernels of a device; XLA names asynchronous collectives ``all-reduce-start``."""
    plane = space.plane(
        f"/device:GPU:{device}",
        device_vendor="Nvidia",
        gpu_device_name="NVIDIA H100",
        compute_cap_major=9,
        compute_cap_minor=0,
    )
    work = Work(run, host, device)
    exchange = np.array([name.rsplit(".", 1)[0] in _NCCL for name in work.names], bool)
    for stream, own in ((13, ~exchange), (17, exchange)):
        line = plane.line(f"Stream #{stream}(Compute)", stream)
        names = [name for name, is_own in zip(work.names, own, strict=True) if is_own]
        begin, end = (each[own] for each in work.span)
        line.events(
            [_kernel(name) for name in names],
            begin,
            end - begin,
            correlation_id=_FIRST_CALL * (device + 1) + work.place[own],
            kernel_details=[Ref("regs:90 grid:8,4,1 block:128,1,1 occ_pct:62.5")] * len(names),
            hlo_op=[Ref(_instruction(name)) for name in names],
            hlo_module=[Ref(program_of(run.pod, int(run.module[0, host]))[0])] * len(names),
            program_id=np.full(len(names), 6),
        )


def _kernel(name: str) -> str:
    kind, _, number = name.rpartition(".")
    return _NCCL.get(kind, "sm90_xmma_gemm_f32f32_tf32f32" if int(number) % 2 else "loop_fusion")


def _instruction(name: str) -> str:
    kind, _, number = name.rpartition(".")
    return f"{kind}-start.{number}" if kind in _NCCL else name


# -- what the host does ----------------------------------------------------------------------------


def _host(space: Space, run: Run, host: int) -> None:
    line = space.plane("/host:CPU").line("python", _PYTHON, display_name="python")
    recorded = _recorder(run, host, line)
    counts = [sum(1 for _ in _operations(run, host, device)) for device in range(run.pod.devices)]
    for step in range(len(run.number)):
        began, fetched, prepared, sent, compiled, called, end = (
            float(each[step, host]) for each in vars(run.host).values()
        )
        number = int(run.number[step])
        if run.pod.annotated:
            recorded("train", began, end, _r=1, step_num=number)
        recorded("$loader.py:18 __next__", began + 2, fetched)
        recorded("IteratorGetNextOp::DoCompute", began + 4, fetched - 3)
        recorded("$metrics.py:17 update", fetched, prepared)
        recorded("DevicePut", prepared, sent)
        function = program_of(run.pod, int(run.module[step, host]))[0].removeprefix("jit_")
        recorded(f"PjitFunction({function})", sent, called)
        if compiled > sent:
            recorded("trace_to_jaxpr_dynamic", sent + 10, sent + 3_000)
            recorded("backend_compile_and_load", sent + 4_000, compiled)
            if run.pod.kind == "TPU":
                recorded("TfrtTpuCompiler::Compile", sent + 4_010, compiled - 10)
        if run.pod.kind == "TPU":
            _launch_tpu(recorded, number, compiled, called)
        else:
            for device, kernels in enumerate(counts):
                _launch_gpu(recorded, device, range(step * kernels, (step + 1) * kernels), compiled)
        recorded("$api.py:2906 block_until_ready", called + 2, end)
        recorded(f"{_BUFFERS[run.pod.kind]}::Await", called + 4, end - 2)


_BUFFERS = {"TPU": "TfrtTpuBuffer", "GPU": "CommonPjRtBuffer"}


def _launch_tpu(recorded: Callable[..., None], number: int, compiled: float, called: float) -> None:
    recorded("ExecuteReplicated.__call__", compiled + 50, called - 1)
    recorded("TfrtTpuLoadedExecutable::Execute", compiled + 60, called - 2)
    recorded("tpu::System::Execute", compiled + 70, called - 3, _pt=12, _p=7_000 + number)


def _launch_gpu(
    recorded: Callable[..., None], device: int, kernels: range, compiled: float
) -> None:
    """One call for each device, one after another; each launches its kernels."""
    begin = compiled + 20 + _LAUNCHING * device
    recorded(
        "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice", begin, begin + _LAUNCHING - 1
    )
    apart = (_LAUNCHING - 5) / len(kernels)
    for place, kernel in enumerate(kernels):
        recorded(
            "cuLaunchKernelEx",
            begin + 2 + apart * place,
            begin + 2 + apart * (place + 0.6),
            device_id=Unsigned(device),
            correlation_id=Unsigned(_FIRST_CALL * (device + 1) + kernel),
        )


def _recorder(run: Run, host: int, line: Line) -> Callable[..., None]:
    start, stop = float(run.clock.start[host]), float(run.clock.stop[host])
    shown = float(run.clock.shown(host, np.array(start)))

    def recorded(name: str, begin: float, end: float, **stats: int) -> None:
        if begin >= start and end <= stop:
            since, until = (
                float(run.clock.shown(host, np.array(each))) - shown for each in (begin, end)
            )
            line.event(name, since, until - since, **stats)

    return recorded


def _rows(*columns: Any) -> Any:
    return zip(*(column.tolist() for column in columns), strict=True)
