"""What Chrome traces tell of programs: steps, reads, input, the device, and findings."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import pytest

from tests.chrome.builder import BACKWARD, Trace, launch_bound, training
from tests.report.snapshots import assert_as_before
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.evidence.interface import Evidence
from xladoctor.report.devices import describe
from xladoctor.report.interface import Report, Style
from xladoctor.report.next_command import next_command
from xladoctor.report.terminal import render

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "launch_bound"


def load(folder: Path, trace: Trace) -> Evidence:
    return load_evidence(str(trace.write(folder / "trace.json")))


def fired(evidence: Evidence) -> set[str]:
    return {finding.rule for finding in diagnose(evidence, load_rules()).findings}


def test_an_eager_loop_that_launches_too_slowly(tmp_path: Path) -> None:
    evidence = load(tmp_path, launch_bound())
    table = evidence.database.table
    assert table("SELECT kind, via, file, line, count(*), sum(count) FROM host_sync GROUP BY ALL")[
        1
    ] == [("item", "", "train.py", 21, 8, 8)]
    (step,) = table(
        "SELECT duration_ns, input_ns, wait_ns, upload_ns, steady FROM timeline_step WHERE step = 4"
    )[1]
    assert step == (10_000_000, 300_000, 280_000, 5_000, True)
    (device,) = table("SELECT busy_ns, idle_ns FROM device_step WHERE step = 4")[1]
    assert device == (300 * 6_000 + 200_000 + 40_000 + 2_000, 7_958_000)
    ops = dict(table("SELECT name, launches FROM host_op WHERE step = 4")[1])
    assert ops["Optimizer.step#SGD.step"] == 1
    assert ops["cudaLaunchKernel"] == 301
    assert ops["aten::item"] == ops["cudaMemcpyAsync: Memcpy DtoH (Device -> Pageable)"] == 1
    assert fired(evidence) == {"XD201", "XD607"}


def test_a_loop_that_keeps_the_device_busy_has_no_finding(tmp_path: Path) -> None:
    evidence = load(tmp_path, training(12))
    assert fired(evidence) == set()
    assert evidence.database.scalar("SELECT count(*) FROM steady_timeline") == 1


def test_operators_that_compute_on_the_cpu_wait_for_no_device(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(12):
        trace.step(number, number * 10_000.0, 10_000)
        trace.event("aten::mm", number * 10_000.0 + 100, 8_000)
    diagnosis = diagnose(load(tmp_path, trace), load_rules())
    assert diagnosis.verdict.bound_by == "dispatch"
    assert "80% of the loop's 120 ms went to computing on the CPU" in diagnosis.verdict.text


def test_waiting_for_batches(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(12):
        at = number * 10_000.0
        trace.step(number, at, 10_000)
        trace.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 6_000)
        trace.event("aten::mm", at + 6_100, 50).launch("gemm", at + 6_110, at + 6_120, 3_800)
    assert fired(load(tmp_path, trace)) == {"XD501"}


def test_kernels_of_the_backward_pass_are_of_the_function_that_called_the_operator(
    tmp_path: Path,
) -> None:
    trace = Trace()
    for number in range(12):
        at = number * 10_000.0
        trace.step(number, at, 10_000)
        trace.event("train.py(9): train", at, 10_000, "python_function")
        for place, (function, name) in enumerate(
            (("net.py(21): forward", "relu"), ("net.py(40): loss_of", "mul"))
        ):
            begin, sequence = at + 100 + 300 * place, 2 * number + place
            trace.event(function, begin, 200, "python_function")
            trace.event("aten::empty", begin + 5, 5, Sequence_number=sequence)
            trace.event(f"aten::{name}", begin + 20, 50, Sequence_number=sequence)
            trace.launch(f"{name}_elementwise_kernel", begin + 30, begin + 40, 50)
            after = at + 1_500 - 400 * place
            trace.event(
                f"autograd::engine::evaluate_function: {name}Backward0",
                after,
                100,
                thread=BACKWARD,
                Sequence_number=sequence,
            )
            for kernel in range(10):
                begin = at + 2_000 + 3_500 * place + 300 * kernel
                trace.launch(
                    f"{name}_backward_elementwise_kernel",
                    after + 10 + kernel,
                    begin,
                    250 + 40 * place,
                    thread=BACKWARD,
                )
    evidence = load(tmp_path, trace)

    assert evidence.database.table(
        "SELECT hlo_op, file, line, function, share FROM kernel_site ORDER BY hlo_op"
    )[1] == [
        ("mul_backward_elementwise_kernel", "net.py", 40, "loss_of", 1.0),
        ("mul_elementwise_kernel", "net.py", 40, "loss_of", 1.0),
        ("relu_backward_elementwise_kernel", "net.py", 21, "forward", 1.0),
        ("relu_elementwise_kernel", "net.py", 21, "forward", 1.0),
    ]
    (found,) = (
        finding for finding in diagnose(evidence, load_rules()).findings if finding.rule == "XD608"
    )
    assert (found.locations[0].file, found.locations[0].line) == ("net.py", 40)


def test_copies_that_do_not_wait_are_no_reads(tmp_path: Path) -> None:
    trace = training(12, kernels=2)
    for number in range(12):
        trace.event("aten::to", 10_000 * number + 6_000, 20)
        trace.copy("DtoH (Device -> Pinned)", 10_000 * number + 6_005, 10_000 * number + 9_000, 2)
    evidence = load(tmp_path, trace)
    assert evidence.database.scalar("SELECT count(*) FROM host_sync") == 0


@pytest.mark.parametrize(("beside", "expected"), [(True, set()), (False, {"XD606"})])
def test_collectives_beside_others_are_overlapped(
    tmp_path: Path, beside: bool, expected: set[str]
) -> None:
    trace = Trace()
    for number in range(12):
        at = number * 10_000.0
        trace.step(number, at, 10_000).event("aten::mm", at + 10, 50)
        trace.launch("gemm", at + 20, at + 30, 6_000)
        begin = at + 1_000 if beside else at + 6_030
        trace.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 40, begin, 3_900, stream=20)
    evidence = load(tmp_path, trace)
    assert fired(evidence) - {"XD612"} == expected
    only = evidence.database.scalar("SELECT max(collective_ns) FROM device_step")
    assert only == (0 if beside else 3_900_000)


def test_steps_without_marks_are_those_of_the_compiled_region(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(6):
        at = number * 1_000.0
        trace.label("Torch-Compiled Region: 0/0", at, 600).launch(
            "triton_poi", at + 5, at + 20, 700
        )
    steps = load(tmp_path, trace).database.table(
        "SELECT steps_from, count(*) FROM timeline JOIN timeline_step USING (process) GROUP BY ALL"
    )[1]
    assert steps == [("executions", 6)]


def test_the_sample_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLE)
    output = io.StringIO()
    diagnosis = diagnose(load_evidence("rank0.pt.trace.json.gz"), load_rules())
    render([Report(diagnosis)], output, Style(80))
    assert_as_before(SAMPLE / "report.txt", output.getvalue())


def test_the_sample_with_a_compilers_log_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLE.parent)
    output = io.StringIO()
    evidence = load_evidence("graph_breaks")
    render([Report(diagnose(evidence, load_rules()))], output, Style(80))
    assert_as_before(Path("graph_breaks", "report.txt").absolute(), output.getvalue())
    placed = evidence.database.table(
        "SELECT step, count(*) FROM compilation GROUP BY ALL ORDER BY 1"
    )[1]
    assert placed == [(3, 1), (7, 1), (11, 1), (17, 1), (None, 2)]  # with what follows the break


def test_the_sample_has_nothing_of_the_machine_that_it_was_made_on() -> None:
    files = sorted((SAMPLE.parent / "graph_breaks").glob("*.gz"))
    assert sum(file.stat().st_size for file in files) < 1_000_000
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        assert "/samples/programs/profiled/graph_breaks.py" in text or "Torch-Compiled" in text
        assert set(re.findall(r"\"/([a-z]+)/", text)) <= {"samples", "venv", "usr", "xladoctor"}


def test_the_sample_is_what_its_generator_writes() -> None:
    packed = (SAMPLE / "rank0.pt.trace.json.gz").read_bytes()
    assert gzip.decompress(packed).decode() == launch_bound().text()


def beside_compiled() -> Trace:
    """A loop on the CPU that compiles its model, and neither its loss nor its optimizer's step."""
    trace = Trace()
    for number in range(12):
        at = number * 40_000.0
        trace.step(number, at, 40_000)
        trace.label("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, 3_000)
        trace.event("aten::stack", at + 10, 2_900)
        trace.event("Torch-Compiled Region: 0/0", at + 3_000, 5_000)
        trace.event("CompiledFunction", at + 3_010, 4_900).event("aten::addmm", at + 3_020, 4_000)
        trace.event("aten::tanh", at + 9_000, 20_000).event("aten::empty", at + 9_010, 100)
        backward = "autograd::engine::evaluate_function: "
        trace.event(f"{backward}TanhBackward0", at + 30_000, 2_000)
        trace.event("aten::tanh_backward", at + 30_010, 1_900)
        trace.event(f"{backward}CompiledFunctionBackward", at + 32_000, 4_000)
        trace.event("CompiledFunctionBackward", at + 32_010, 3_900)
        trace.event("aten::mm", at + 32_020, 3_800)
        trace.label("Optimizer.step#AdamW.step", at + 37_000, 2_000)
        trace.event("aten::lerp_", at + 37_100, 1_000)
    return trace


def test_operators_outside_of_compiled_functions(tmp_path: Path) -> None:
    evidence = load(tmp_path, beside_compiled())
    assert evidence.database.table(
        "SELECT place, name, count, duration_ns, launches FROM eager_op WHERE step = 4"
        " ORDER BY duration_ns"
    )[1] == [
        ("optimizer", "aten::lerp_", 1, 1_000_000, 0),
        ("backward", "aten::tanh_backward", 1, 1_900_000, 0),
        ("loop", "aten::tanh", 1, 20_000_000, 0),
    ]
    diagnosis = diagnose(evidence, load_rules())
    (finding,) = diagnosis.findings
    assert (finding.rule, round(finding.cause["share"], 3)) == ("XD315", 0.573)
    sentences = {each.rule: each.reason for each in diagnosis.not_checked}
    assert sentences["XD501"].startswith("no timeline with a device")


def test_a_program_that_compiles_nothing_has_no_operators_beside(tmp_path: Path) -> None:
    assert "eager_op" not in load(tmp_path, launch_bound()).available


def test_steps_are_those_that_the_capture_marks(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(8):
        trace.step(number, number * 1_000.0, 1_000)
        trace.event(f"xladoctor.step#{number + 20}", number * 1_000.0 + 600, 2)
    assert load(tmp_path, trace).database.table(
        "SELECT steps_from, min(step), max(step), min(duration_ns), count(*)"
        " FROM timeline JOIN timeline_step USING (process) GROUP BY ALL"
    )[1] == [("xladoctor.step", 21, 27, 1_000_000, 7)]


def test_without_steps_the_device_is_told_of_all_the_same(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(4):
        trace.launch("gemm", number * 100, number * 100 + 50, 25)
    diagnosis = diagnose(load(tmp_path, trace.event("aten::mm", 0, 9)), load_rules())
    (device,) = diagnosis.devices
    assert (device.steps, device.idle) == (0, {})
    assert device.busy == pytest.approx(100 / 325)
    assert [op.op for op in device.top_ops] == ["gemm"]
    assert "31% from its first operation in the timeline to its last" in describe([device])[0]
    assert "nothing to fix" not in diagnosis.verdict.text
    assert next_command(diagnosis) == ("for lines", "xladoctor run your_script.py")


@pytest.mark.parametrize(
    ("does", "steps", "warmup"),
    [
        ({}, 6, 0),
        ({}, 1, 0),
        ({0: "_compile.compile_inner (dynamo_timed)", 1: "cudaGraphInstantiate"}, 6, 2),
        ({0: "cudaMalloc", 1: "cudaStreamBeginCapture_v10000", 4: "cudaMalloc"}, 6, 2),
        ({3: "cudaMalloc"}, 6, 0),
        (dict.fromkeys(range(6), "cudaMalloc"), 6, 0),
        (dict.fromkeys(range(2), "cudaMalloc"), 2, 2),
    ],
)
def test_warm_up_is_what_shows_it(
    tmp_path: Path, does: dict[int, str], steps: int, warmup: int
) -> None:
    trace = Trace()
    for number in range(steps):
        trace.step(number, number * 1_000, 1_000)
        trace.event("aten::mm", number * 1_000 + 10, 500)
        trace.launch("gemm", number * 1_000 + 20, number * 1_000 + 30, 900)
        if number in does:
            trace.call(does[number], number * 1_000 + 600, 300)
    diagnosis = diagnose(load(tmp_path, trace), load_rules())
    assert diagnosis.steps is not None
    assert (diagnosis.steps.count, diagnosis.steps.warmup) == (steps, warmup)


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        ("ampere_sgemm_32x32_sliced1x4_tn", "ampere_sgemm_32x32_sliced1x4_tn"),
        (
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
            "at::native::BinaryFunctor<float, float, at::native::MulFunctor<float> > > >(int, int)",
            "elementwise_kernel<MulFunctor>",
        ),
        (
            "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float,"
            " c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, int)",
            "cunn_SoftMaxForward",
        ),
        (
            "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>"
            "(cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1::Params)",
            "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1",
        ),
        (
            "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists,"
            " void>::type vllm::"
            "fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
            "fused_add_rms_norm_kernel",
        ),
        ("k" * 70, "k" * 59 + "…"),
    ],
)
def test_kernels_are_called_by_what_tells_them_apart(
    tmp_path: Path, kernel: str, told: str
) -> None:
    diagnosis = diagnose(load(tmp_path, Trace().launch(kernel, 0, 50, 25)), load_rules())
    assert f": {told} 100%" in describe(diagnosis.devices)[1]


def test_the_compilers_own_marks_are_no_labels_of_the_program(tmp_path: Path) -> None:
    trace = training(4)
    for at, name in enumerate(("TorchDynamo Cache Lookup", "Pregraph bytecode", "my part")):
        trace.label(name, 200 * at + 100, 50)
    names = load(tmp_path, trace).database.table("SELECT DISTINCT name FROM region ORDER BY 1")[1]
    assert names == [*((f"ProfilerStep#{number}",) for number in range(4)), ("my part",)]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("HtoD (Pageable -> Device)", {"XD611"}),
        ("DtoH (Device -> Pageable)", {"XD201"}),
    ],
)
def test_a_wait_is_of_the_copy_before_it_in_the_same_operator(
    tmp_path: Path, kind: str, told: set[str]
) -> None:
    trace = Trace()
    for number in range(12):
        at = number * 10_000.0
        trace.step(number, at, 10_000).event("aten::mm", at + 10, 50)
        trace.launch("gemm", at + 20, at + 30, 5_000)
        trace.event("aten::to", at + 100, 5_050).event("aten::copy_", at + 101, 5_040)
        trace.copy(kind, at + 102, at + 5_030, 90)
        trace.call("cudaStreamSynchronize", at + 110, 5_020)
        trace.call("cudaStreamSynchronize", at + 5_200, 3)  # the program's own
    evidence = load(tmp_path, trace)
    assert fired(evidence) - {"XD612"} == told  # the rest of the step is Python
    (step,) = evidence.database.table(
        "SELECT wait_ns, upload_ns FROM timeline_step WHERE step = 5"
    )[1]
    expected = (3_000, 5_025_000) if "HtoD" in kind else (5_028_000, 0)
    assert step == expected


def test_a_wait_after_a_copy_in_no_operator_is_the_programs_own(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(12):
        at = number * 10_000.0
        trace.step(number, at, 10_000).event("aten::mm", at + 10, 50)
        trace.launch("gemm", at + 20, at + 30, 5_000)
        trace.copy("HtoD (Pinned -> Device)", at + 102, at + 5_030, 90)
        trace.call("cudaStreamSynchronize", at + 110, 5_020)
    evidence = load(tmp_path, trace)
    (step,) = evidence.database.table(
        "SELECT wait_ns, upload_ns FROM timeline_step WHERE step = 5"
    )[1]
    assert step == (5_020_000, 5_000)
    assert "XD611" not in fired(evidence)


def test_calls_that_wait_for_their_copy_are_known_by_their_runtime(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(12):
        at = number * 10_000.0
        trace.step(number, at, 10_000).event("aten::mm", at + 10, 50)
        trace.launch("gemm", at + 20, at + 30, 5_000, by="hipLaunchKernel")
        trace.event("aten::item", at + 100, 5_050)
        trace.launch(
            "Memcpy DtoH (Device -> Host)",
            at + 102,
            at + 5_030,
            90,
            by="hipMemcpyWithStream",
            category="gpu_memcpy",
            takes=5_040,
        )
    assert fired(load(tmp_path, trace)) - {"XD612"} == {"XD201"}


def one_pass(reads: int) -> Trace:
    """A single step: a GPU that computes most of the time, and so many reads between."""
    trace = Trace().step(5, 0, 100_000)
    for number in range(10):
        at = number * 10_000.0
        trace.event("aten::mm", at + 10, 50).launch("gemm", at + 20, at + 30, 9_000)
        if number < reads:
            trace.event("aten::item", at + 100, 9_200)
            trace.copy("DtoH (Device -> Pageable)", at + 110, at + 9_100, 2, takes=9_150)
    return trace


def test_one_step_does_not_show_that_there_is_nothing_to_fix(tmp_path: Path) -> None:
    diagnosis = diagnose(load(tmp_path, one_pass(1)), load_rules())
    assert diagnosis.findings == []
    assert diagnosis.verdict.text.endswith(
        "; one step does not show the steady loop: record 3 or more."
    )
    reasons = {skipped.rule: skipped.reason for skipped in diagnosis.not_checked}
    assert reasons["XD201"] == "the timeline has one step, and this rule needs 3"
    assert "XD607" in diagnosis.rules.clear


def unmarked(*calls: str) -> Trace:
    """What nothing divides into steps: small kernels, each with a name of its own."""
    trace = Trace()
    for number in range(300):
        at = number * 26.0
        trace.event(f"aten::op{number}", at, 20).launch(f"kernel{number}", at + 4, at + 10, 6)
    for name in calls:
        trace.call(name, 5, 2)
    return trace


def test_what_nothing_divides_into_steps_is_judged_by_shares_of_all(tmp_path: Path) -> None:
    evidence = load(tmp_path, unmarked())
    diagnosis = diagnose(evidence, load_rules())
    assert [finding.rule for finding in diagnosis.findings] == ["XD607"]
    assert diagnosis.steps is None
    assert "XD201" in diagnosis.rules.not_evaluated
    assert [note.rpartition(": ")[2] for note in evidence.notes] == [
        "nothing marks steps; the whole timeline counts as one"
    ]


@pytest.mark.parametrize("call", ["cudaMalloc", "cudaStreamBeginCapture", "hipGraphInstantiate"])
def test_what_only_first_steps_do_is_of_warm_up(tmp_path: Path, call: str) -> None:
    diagnosis = diagnose(load(tmp_path, unmarked(call)), load_rules())
    assert diagnosis.findings == []
    assert diagnosis.verdict.text.endswith(
        "; one step of warm-up does not show the steady loop: record later ones."
    )


def test_reads_that_recur_within_one_step(tmp_path: Path) -> None:
    (finding,) = diagnose(load(tmp_path, one_pass(8)), load_rules()).findings
    assert (finding.rule, finding.count) == ("XD201", 8)
    assert "% of the steps" not in finding.message


def test_steps_of_warm_up_do_not_show_that_there_is_nothing_to_fix(tmp_path: Path) -> None:
    trace = training(2).call("cudaMalloc", 9_000).call("cudaMalloc", 19_000)
    diagnosis = diagnose(load(tmp_path, trace), load_rules())
    assert diagnosis.verdict.text.endswith(
        "; 2 steps of warm-up do not show the steady loop: record later ones."
    )


def test_waits_of_a_runtime_that_is_not_understood_are_not_judged(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(12):
        at = number * 10_000.0
        trace.step(number, at, 10_000).event("aten::item", at + 10, 9_000)
        trace.launch("gemm", at + 20, at + 30, 9_000, by="urEnqueueKernelLaunch")
        trace.event("zeEventHostSynchronize", at + 100, 8_900, "xpu_runtime")
    diagnosis = diagnose(load(tmp_path, trace), load_rules())
    assert diagnosis.findings == []
    assert diagnosis.verdict.text.endswith(
        "; waits and launches are unknown: xladoctor does not understand the device's runtime"
        " (Intel XPU)."
    )
    reasons = {skipped.rule: skipped.reason for skipped in diagnosis.not_checked}
    for rule in ("XD201", "XD607", "XD609", "XD611"):
        assert reasons[rule] == (
            "the calls that drive this device are not understood (see the notes)"
        )
    assert any("is not understood (Intel XPU)" in note for note in diagnosis.warnings)
    assert {"XD606", "XD608"} <= set(diagnosis.rules.clear)


def test_functions_that_run_while_the_device_is_idle(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(6):
        at = number * 10_000.0
        trace.step(number, at, 10_000)
        trace.event("train.py(21): train", at, 9_990, "python_function")
        for image in range(40):  # one after the other, each of them short
            begin = at + 100 + 100 * image
            trace.event("images.py(7): resize", begin, 90, "python_function")
            trace.event("<built-in method array>", begin + 10, 70, "python_function")
        trace.event("aten::mm", at + 4_150, 50).launch("gemm", at + 4_160, at + 4_170, 5_800)
    (found,) = diagnose(load(tmp_path, trace), load_rules()).findings
    assert found.rule == "XD612"
    assert [(place.file, place.line) for place in found.locations] == [("images.py", 7)]
    assert "in resize (images.py:7) 100%" in found.message


def test_operators_that_compute_on_the_cpu_are_python_of_the_host(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(6):
        at = number * 10_000.0
        trace.step(number, at, 10_000)
        trace.event("train.py(21): train", at, 9_990, "python_function")
        trace.event("aten::randn", at + 100, 4_000).event("aten::normal_", at + 110, 3_900)
        trace.event("aten::mm", at + 4_150, 50).launch("gemm", at + 4_160, at + 4_170, 5_800)
    evidence = load(tmp_path, trace)
    reasons = evidence.database.rows("SELECT DISTINCT reason FROM idle_gap WHERE duration_ns > 1e6")
    assert [row["reason"] for row in reasons] == ["python"]
    (found,) = diagnose(evidence, load_rules()).findings
    assert found.rule == "XD612"
    assert [(place.file, place.line) for place in found.locations] == [("train.py", 21)]
