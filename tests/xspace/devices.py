"""Traces of programs on TPU, GPU and CPU, by JAX and TensorFlow, with what is true of each.

Names of planes and lines: ``xla/tsl/profiler/utils/xplane_schema.cc`` of OpenXLA and the page
"Trace Viewer Tool" of XProf; where else a structure comes from stands at each function. Only the
times are made up: small round microseconds from ``ORIGIN_NS``, so that the truth can be checked by
eye. Spans that tools may take for the same thing (a module and its operations, a compilation and
the call that asks for it) begin and end together, so that the truth does not depend on the choice.
"""

from __future__ import annotations

from tests.xspace import generated
from tests.xspace.builder import Line, Plane, Ref, Space, Unsigned
from tests.xspace.truth import Device, Gap, Step, Truth

#: Where the host's lines begin, in nanoseconds from the start of the profile; the origin of all
#: times of `Truth`.
ORIGIN_NS = 5_000
#: The GPU's lines begin this much earlier, so that readers have to mind each line's own origin.
_GPU_EARLIER_US = 3


def _hlo_proto(name: str, program_id: int) -> bytes:
    """A module without instructions: ``HloProto.hlo_module`` with name and id."""
    module = generated.field(1, name) + generated.field(5, program_id)
    return generated.field(1, module)


def _python(space: Space) -> tuple[Plane, Line]:
    host = space.plane("/host:CPU")
    return host, host.line("python", -8_315_374_011_220_418_607, ORIGIN_NS, display_name="python")


_PROGRAM = "jit_train_step"
_TPU_PROGRAM_ID = 12_190_760_917_235_803_885  # a fingerprint: beyond 63 bits
_COPY_START = "%copy-start = (f32[8]{0:T(128)S(5)}, f32[8]{0:T(128)}, u32[]{:S(2)}) copy-start(%p0)"
_TPU_RUNS = {0: ((110, 190), (236, 290), (345, 390)), 1: ((112, 190), (238, 290), (347, 390))}

TPU = Truth(
    steps=(Step("0", 0, 200), Step("1", 200, 300), Step("2", 300, 400)),
    devices={
        "/device:TPU:0": Device(
            "TPU",
            179,
            (
                Gap(0, 110, "compile", 100),
                Gap(190, 236, "upload", 30),
                Gap(290, 345, "python", 45),
                Gap(390, 400, "python", 8),
            ),
            {
                (_PROGRAM, "fusion.1"): (3, 30, 30),
                (_PROGRAM, "while.5"): (3, 134, 6),
                (_PROGRAM, "fusion.7"): (3, 24, 24),
                (_PROGRAM, "all-reduce.2"): (3, 104, 104),
                (_PROGRAM, "copy.3"): (3, 15, 15),
            },
        ),
        "/device:TPU:1": Device(
            "TPU",
            173,
            (
                Gap(0, 112, "compile", 100),
                Gap(190, 238, "upload", 30),
                Gap(290, 347, "python", 45),
                Gap(390, 400, "python", 8),
            ),
            {
                (_PROGRAM, "fusion.1"): (3, 30, 30),
                (_PROGRAM, "while.5"): (3, 128, 6),
                (_PROGRAM, "fusion.7"): (3, 24, 24),
                (_PROGRAM, "all-reduce.2"): (3, 98, 98),
                (_PROGRAM, "copy.3"): (3, 15, 15),
            },
        ),
    },
)


def tpu() -> Space:
    """A JAX program on two TPU cores: it compiles, sends a batch, and works in Python.

    Structure as in XProf's test data ``xprof/convert/test_xplanes/tpu_inference_2.xplane.pb``: the
    lines ``XLA Modules``, ``XLA Ops``, ``Async XLA Ops``, ``Overlay`` and ``XLA TraceMe`` with
    their ids; the name of an operation is its HLO text and the display name the instruction; what
    XLA knows of it (category, program, source) are stats of the metadata, not of the event. Line
    ``Steps``: ``ConnectIntraThreadTPU`` in ``xla/tsl/profiler/utils/group_events.cc``.
    """
    space = Space("tpu-vm")
    for number, runs in _TPU_RUNS.items():
        _tpu_core(
            space.plane(
                f"/device:TPU:{number}",
                device_type_string="TPU v6 Lite",
                peak_teraflops_per_second=918.0,
                has_megacore=0,
            ),
            runs,
        )
    space.hlo(_TPU_PROGRAM_ID, _PROGRAM, _hlo_proto(_PROGRAM, 1), key=41)
    _tpu_host(space)
    space.started_at(1_700_000_000_000_000_000)
    return space


def _tpu_core(plane: Plane, runs: tuple[tuple[int, int], ...]) -> None:
    steps, modules, ops, asynchronous, trace_me = (
        plane.line(name, number, ORIGIN_NS)
        for name, number in (
            ("Steps", 1),
            ("XLA Modules", 2),
            ("XLA Ops", 3),
            ("Async XLA Ops", 4),
            ("XLA TraceMe", 6),
        )
    )
    plane.line("Overlay", 7, ORIGIN_NS)
    for number, (begin, end) in enumerate(runs):
        steps.event(str(number), begin, end - begin)
        modules.event(
            f"{_PROGRAM}({_TPU_PROGRAM_ID})",
            begin,
            end - begin,
            run_id=Unsigned(number + 2),
            replica_id=0,
            queue_id=Unsigned(0),
            core_type=Unsigned(0),
            _ct=12,
            _c=7_000 + number,
        )
        _tpu_op(plane, ops, "fusion.1", "loop fusion", begin, 10)
        _tpu_op(plane, ops, "while.5", "while", begin + 10, end - begin - 15)
        _tpu_op(plane, ops, "fusion.7", "convolution fusion", begin + 12, 8)
        _tpu_op(plane, ops, "all-reduce.2", "all-reduce", begin + 20, end - begin - 25)
        _tpu_op(plane, ops, "copy.3", "copy", end - 5, 5)
        for copy, offset in ((0, 2), (1, 12)):  # they overlap without being nested
            plane.metadata(_COPY_START, display_name="async-copy", hlo_category="copy-start")
            asynchronous.event(
                _COPY_START,
                begin + offset,
                20,
                hlo_op=f"copy-done.{copy}",
                _a=1,
                flow=Unsigned(copy),
                id=Unsigned(copy),
            )
        trace_me.event("barrier-cores", begin, 0.5).event("dependency-wait", begin + 1, 0.5)


def _tpu_op(
    plane: Plane, line: Line, name: str, category: str, begin: float, duration: float
) -> None:
    text = f"%{name} = f32[8,128]{{1,0:T(8,128)}} {category.rsplit(maxsplit=1)[-1]}(f32[8,128] %p0)"
    plane.metadata(
        text,
        display_name=name,
        hlo_category=category,
        program_id=Unsigned(_TPU_PROGRAM_ID),
        symbol_id=Unsigned(21),
        flops=4096,
        bytes_accessed=8192,
        source="/home/ada/train.py:35",
        source_stack="/home/ada/train.py:49:2\n/home/ada/train.py:35:11",
        tf_op="jit(train_step)/jit(main)/add:",
    )
    line.event(  # the device's own clock, which is not the timeline's
        text,
        begin,
        duration,
        device_offset_ps=Unsigned((begin + 70) * 10**6),
        device_duration_ps=Unsigned(duration * 10**6),
    )


def _tpu_host(space: Space) -> None:
    _, line = _python(space)
    for number, (begin, end) in enumerate(((0, 200), (200, 300), (300, 400))):
        line.event("train", begin, end - begin, _r=1, step_num=number)
    line.event("PjitFunction(train_step)", 5, 115).event("trace_to_jaxpr_dynamic", 6, 3)
    line.event("backend_compile", 10, 95).event("TfrtTpuCompiler::Compile", 10, 95)
    line.event("DevicePut", 200, 30).event("tpu::System::TransferToDevice", 202, 26)
    line.event("PjitFunction(train_step)", 230, 10).event("PjitFunction(train_step)", 340, 10)
    for number, (begin, end) in enumerate(((106, 119), (231, 239), (341, 349))):
        line.event("ExecuteReplicated.__call__", begin, end - begin)
        line.event("TfrtTpuLoadedExecutable::Execute", begin, end - begin)
        line.event("tpu::System::Execute", begin + 1, 4, _pt=12, _p=7_000 + number)
    for begin, end in ((120, 195), (240, 295), (350, 392)):
        line.event("np.asarray(jax.Array)", begin, end - begin)
        line.event("TfrtTpuBuffer::ToLiteral", begin + 1, end - begin - 2)


GPU = Truth(
    steps=(Step("10", 0, 100), Step("11", 100, 200), Step("12", 200, 300)),
    devices={
        "/device:GPU:0": Device(
            "GPU",
            172,
            (
                Gap(0, 20, "python", 12),
                Gap(84, 145, "python", 50),
                Gap(165, 170, "dispatch", 5),
                Gap(194, 210, "dispatch", 10),
                Gap(274, 300, "python", 20),
            ),
            {
                (_PROGRAM, "gemm_fusion_dot.1"): (3, 105, 105),
                (_PROGRAM, "loop_add_fusion"): (3, 35, 35),
                (_PROGRAM, "all-reduce-start.1"): (1, 12, 12),
            },
            copies_us=30,
        )
    },
)

#: stream, kernel, instruction, begin, end
_KERNELS = (
    (13, "sm90_xmma_gemm_f32f32_tf32f32", "gemm_fusion_dot.1", 20, 60),
    (13, "loop_add_fusion", "loop_add_fusion", 60, 80),
    (13, "sm90_xmma_gemm_f32f32_tf32f32", "gemm_fusion_dot.1", 170, 185),
    (17, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "all-reduce-start.1", 180, 192),
    (13, "loop_add_fusion", "loop_add_fusion", 185, 190),
    (13, "sm90_xmma_gemm_f32f32_tf32f32", "gemm_fusion_dot.1", 210, 260),
    (13, "loop_add_fusion", "loop_add_fusion", 260, 270),
)
_COPIES = (
    (15, "MemcpyD2H", 80, 84),
    (14, "MemcpyH2D", 145, 165),
    (15, "MemcpyD2H", 192, 194),
    (15, "MemcpyD2H", 270, 274),
)


def gpu(derived: bool = True) -> Space:
    """A JAX program on a GPU, with copies and two streams that overlap.

    Streams, their names and the stats of kernels and copies: ``PerDeviceCollector`` in
    ``xla/backends/profiler/gpu/cupti_collector.cc``; the names of kinds: ``GetTraceEventTypeName``
    in ``cupti_buffer_events.cc``. With ``derived``, also the lines that XProf derives from them
    when it shows the trace (``xprof/utils/derived_timeline.cc``): they repeat the same work and are
    no streams. Their ids: ``xla/tsl/profiler/utils/trace_utils.h``.
    """
    space = Space("gpu-vm")
    plane = space.plane(
        "/device:GPU:0",
        device_vendor="Nvidia",
        gpu_device_name="NVIDIA H200",
        compute_cap_major=9,
        compute_cap_minor=0,
        memory_size=Unsigned(150_000_000_000),
    )
    names = {13: "Compute", 14: "MemcpyH2D", 15: "MemcpyD2H", 17: "Compute"}
    streams = {
        number: _gpu_line(plane, f"Stream #{number}({kind})", number)
        for number, kind in names.items()
    }
    for correlation, (stream, kernel, operation, begin, end) in enumerate(_KERNELS, start=100):
        _gpu_kernel(streams[stream], kernel, operation, begin, end - begin, correlation)
    for correlation, (stream, name, begin, end) in enumerate(_COPIES, start=200):
        streams[stream].event(
            name,
            begin + _GPU_EARLIER_US,
            end - begin,
            correlation_id=Unsigned(correlation),
            context_id="$$1",
            memcpy_details=Ref("kind_src:device kind_dst:pinned size:4096 dest:0 async:1"),
        )
    if derived:
        _gpu_derived(plane)
    space.hlo(6, _PROGRAM, _hlo_proto(_PROGRAM, 6))
    _gpu_host(space)
    space.started_at(1_700_000_000_000_000_000)
    return space


def _gpu_line(plane: Plane, name: str, number: int) -> Line:
    return plane.line(name, number, ORIGIN_NS - _GPU_EARLIER_US * 1000)


def _gpu_kernel(
    line: Line, kernel: str, operation: str, begin: float, duration: float, correlation: int
) -> None:
    line.event(
        kernel,
        begin + _GPU_EARLIER_US,
        duration,
        correlation_id=Unsigned(correlation),
        context_id="$$1",
        theoretical_occupancy_pct=62.5,
        occupancy_min_grid_size=264,
        occupancy_suggested_block_size=512,
        kernel_details=Ref(
            "regs:90 static_shared:0 dynamic_shared:49152 grid:8,4,1 block:128,1,1 occ_pct:62.5"
        ),
        tf_op=Ref("XlaModule:"),
        hlo_op=Ref(operation),
        hlo_module=Ref(_PROGRAM),
        program_id=6,
    )


def _gpu_derived(plane: Plane) -> None:
    first = 0xDEADBEEF - (1 << 32)  # a C++ int
    lines = {
        name: _gpu_line(plane, name, first + offset)
        for name, offset in (
            ("Steps", 0),
            ("Launch Stats", 1),
            ("Framework Name Scope", 2),
            ("Framework Ops", 3),
            ("XLA Modules", 4),
            ("XLA Ops", 5),
            ("Source code", 7),
        )
    }
    for group, (begin, end) in enumerate(((20, 84), (145, 194), (210, 274))):
        where = (begin + _GPU_EARLIER_US, end - begin)
        lines["Steps"].event(str(group), *where, group_id=group, step_name=f"train {10 + group}")
        lines["XLA Modules"].event(f"{_PROGRAM}(6)", *where, group_id=group)
        lines["Launch Stats"].event(
            f"Launch Stats for train {10 + group}", *where, num_launches=Unsigned(2), group_id=group
        )
        lines["Framework Name Scope"].event("jit(train_step)", *where, group_id=group)
        lines["Framework Ops"].event("jit(train_step)/dot_general:", *where, group_id=group)
        lines["Source code"].event("/home/ada/train.py:35", *where, group_id=group)
    for _, _, operation, begin, end in _KERNELS:
        plane.metadata(f"6/{operation}", display_name=operation)
        lines["XLA Ops"].event(f"6/{operation}", begin + _GPU_EARLIER_US, end - begin)


def _gpu_host(space: Space) -> None:
    """CUPTI's calls are on the thread that made them: post_process_single_host_xplane.cc."""
    _, line = _python(space)
    for number in range(3):
        line.event("train", 100 * number, 100, _r=1, step_num=10 + number)
    line.event("DevicePut", 140, 20)
    line.event("cuMemcpyHtoDAsync_v2", 142, 3, device_id=Unsigned(0), correlation_id=Unsigned(201))
    correlation = 100
    for begin, end, launches in ((12, 30, 2), (160, 170, 3), (200, 210, 2)):
        line.event("PjitFunction(train_step)", begin, end - begin)
        line.event("CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice", begin, end - begin)
        for launch in range(launches):
            line.event(
                "cuLaunchKernelEx",
                begin + 1 + 2 * launch,
                1,
                device_id=Unsigned(0),
                correlation_id=Unsigned(correlation),
                context_id="$$1",
            )
            correlation += 1
    for begin, end in ((30, 90), (170, 195), (210, 280)):
        line.event("np.asarray(jax.Array)", begin, end - begin)


JAX_CPU = Truth(
    steps=(Step("0", 0, 100), Step("1", 100, 200), Step("2", 200, 300)),
    devices={
        "/host:CPU": Device(
            "CPU",
            152,
            (
                Gap(0, 30, "dispatch", 18),
                Gap(90, 138, "upload", 30),
                Gap(190, 210, "dispatch", 10),
                Gap(250, 300, "python", 40),
            ),
            {
                (_PROGRAM, "dot_general.7"): (2, 82, 82),
                (_PROGRAM, "wrapped_tanh"): (2, 30, 30),
                ("jit_convert_element_type", "copy"): (1, 40, 40),
            },
        )
    },
)


def jax_cpu(
    executable: str = "CommonPjRtLoadedExecutable::ExecuteHelperOnSingleDevice",
) -> Space:
    """A JAX program on the CPU client; the last step's small program runs on the Python thread.

    Structure as jaxlib 0.10 writes it on a CPU: two nested ``PjitFunction``, operations with
    ``hlo_op``, ``hlo_module``, ``program_id`` and ``run_id`` inside ``ThunkExecutor::Execute`` on
    the client's threads, a second event ``end: <operation>`` where each ends, the regions of
    ``threadpool_listener.cc``, and modules that are numbered in their names alone. Step markers:
    ``jax.profiler.StepTraceAnnotation``. Older clients name ``executable`` otherwise, such as
    ``PjRtCpuExecutable::ExecuteHelper`` and ``TfrtCpuExecutable::Execute``.
    """
    space = Space("cpu-vm")
    space.hlo(6, _PROGRAM, _hlo_proto(_PROGRAM, 6), key=2)
    space.hlo(0, "jit_convert_element_type", _hlo_proto("jit_convert_element_type", 0), key=1)
    host, line = _python(space)
    for number in range(3):
        line.event("train", 100 * number, 100, _r=1, step_num=number)
    line.event("DevicePut", 100, 30)
    for begin, end in ((12, 40), (130, 140), (200, 260)):
        name = "convert_element_type" if begin == 200 else "train_step"
        line.event(f"PjitFunction({name})", begin, end - begin)
        line.event(f"PjitFunction({name})", begin, end - begin)
        line.event(executable, begin, end - begin)
    for begin, end in ((40, 97), (140, 195)):
        line.event("np.asarray(jax.Array)", begin, end - begin)
    _cpu_op(line, "copy", 210, 40, "jit_convert_element_type", 0, run=-9)
    _jax_client(host)
    space.started_at(1_700_000_000_000_000_000)
    return space


def _jax_client(host: Plane) -> None:
    client = host.line(
        "tf_XLAPjRtCpuClient/7040811220752418607", 7_040_811_220_752_418_607, ORIGIN_NS
    )
    eigen = host.line("tf_XLAEigen/-1129444492148430873", -1_129_444_492_148_430_873, ORIGIN_NS)
    for region, (begin, end) in enumerate(((30, 90), (138, 190))):
        client.event("ThreadpoolListener::StartRegion", begin, 0, _ct=15, _c=region)
        client.event("ThunkExecutor::Execute", begin, end - begin)
        _cpu_op(client, "dot_general.7", begin, end - begin - 15, _PROGRAM, 6, run=7 + region)
        _cpu_op(client, "wrapped_tanh", end - 15, 15, _PROGRAM, 6, run=7 + region)
        client.event("ThreadpoolListener::StopRegion", end + 1, 0)
        eigen.event("ThreadpoolListener::StartRegion", begin + 2, 0, _ct=15, _c=10 + region)
        eigen.event("ThreadpoolListener::StopRegion", begin + 20, 0)


def _cpu_op(
    line: Line, name: str, begin: float, duration: float, module: str, program: int, run: int
) -> None:
    line.event(
        name,
        begin,
        duration,
        hlo_op=Ref(name),
        hlo_module=Ref(module),
        program_id=program,
        run_id=run,
        device_ordinal=0,
        _pt=0,
        _p=1 << 32,
    )
    line.event(f"end: {name}", begin + duration, 0, _ct=0, _c=1 << 32)


_MATMUL, _UPDATE = "ampere_sgemm_32x32_sliced1x4_nn", "ApplyGradientDescentKernel"

TENSORFLOW = Truth(
    steps=(Step("0", 0, 100), Step("1", 100, 200), Step("2", 200, 300)),
    devices={
        "/device:GPU:0": Device(
            "GPU",
            145,
            (
                Gap(0, 50, "input", 40),
                Gap(90, 155, "input", 48),
                Gap(190, 210, "python", 11),
                Gap(280, 300, "python", 20),
            ),
            {(None, _MATMUL): (3, 115, 115), (None, _UPDATE): (3, 30, 30)},
        )
    },
)


def tensorflow(marker: str = "train") -> Space:
    """A TensorFlow program on a GPU that waits for its tf.data pipeline.

    Host events and their stats as TensorFlow 2.21 writes them; steps by
    ``tf.profiler.experimental.Trace(marker, step_num=…, _r=1)`` as the page "Optimize TensorFlow
    performance" of XProf tells, or, with the marker ``TraceContext``, as older releases and Keras
    did (``IsLegacyRootEvent`` in ``group_events.cc``): with ``graph_type`` and without ``_r``.
    Kernels name a TensorFlow operation and no HLO.
    """
    space = Space("tf-vm")
    plane = space.plane("/device:GPU:0", device_vendor="Nvidia")
    stream = _gpu_line(plane, "Stream #20(Compute)", 20)
    for begin, end in ((50, 90), (155, 190), (210, 280)):
        for name, start, stop, operation in (
            (_MATMUL, begin, end - 10, "model/dense/MatMul:MatMul"),
            (_UPDATE, end - 10, end, "SGD/update:ResourceApplyGradientDescent"),
        ):
            stream.event(
                name,
                start + _GPU_EARLIER_US,
                stop - start,
                context_id="$$1",
                kernel_details=Ref("regs:57 occ_pct:100"),
                tf_op=Ref(operation),
            )
    _tensorflow_host(space, marker)
    space.started_at(1_700_000_000_000_000_000)
    return space


def _tensorflow_host(space: Space, marker: str) -> None:
    host, line = _python(space)
    host.metadata("Iterator::Root::Prefetch", display_name="Iterator::Prefetch")
    for number in range(3):
        root: dict[str, int | str] = (
            {"_r": 1} if marker != "TraceContext" else {"graph_type": "train"}
        )
        line.event(marker, 100 * number, 100, step_num=number, **root)
    for begin, end in ((2, 42), (102, 150), (201, 205)):
        where = (begin, end - begin)
        line.event("EagerExecute", *where, eager_op=Ref("IteratorGetNext"), is_func=0)
        line.event("IteratorGetNextOp::DoCompute", *where, id=-74_614_523, iter_num=0)
        line.event("Iterator::Root", *where, name=Ref("inject/prefetch"), id=92_127)
        line.event("Iterator::Root::Prefetch", *where, parent_id=92_127)
    for begin, end in ((42, 60), (150, 165), (205, 220)):
        where = (begin, end - begin)
        line.event("train_step", *where, tf_function_call=Ref("notTraced-nonXla"), tracing_count=1)
        line.event("FunctionRun", *where, id=begin, _r=1, _pt=2, _p=2_008_791 + begin)
    producer = host.line("tf_data_iterator_resource/-305", -305, ORIGIN_NS)
    for begin, end in ((0, 41), (60, 149), (150, 204)):
        producer.event("PrefetchProduce", begin, end - begin, element_id=begin)
        producer.event("Iterator::Root::Prefetch::MapAndBatch", begin, end - begin)
