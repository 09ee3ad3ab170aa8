"""What runtimes and compilers say when memory does not suffice, in each form."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.errors import XladoctorError
from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.memory_errors import MemoryErrors, shortage
from xladoctor.ingest.recorded_elsewhere import texts_alone

MIB, GIB = 1 << 20, 1 << 30
HBM = """\
jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory \
in memory space hbm. Used 31.50G of 31.25G hbm. Exceeded hbm capacity by 256.00M.

Total hbm usage >= 32.00G:
    reserved        512.00M
    program          26.00G
    arguments         5.50G

Output size 5.50G; shares 5.50G with arguments.

Program hbm requirement 26.00G:
    global           256.0K
    HLO temp         26.00G (96.2% utilization: Unpadded (25.00G) Padded (26.00G), 2.0% \
fragmentation (512.00M))

  Largest program allocations in hbm:

  1. Size: 4.00G
     Operator: op_name="jit(step)/jvp(loss)/dot_general" source_file="/app/model.py" source_line=42
     Shape: bf16[32,4096,16384]{2,1,0:T(8,128)(2,1)}
     Unpadded size: 3.00G
     Extra memory due to padding: 1.00G (1.3x expansion)
     XLA label: fusion.123 = fusion(param.1), kind=kLoop, calls=fused
     Allocation type: HLO temp
     ==========================

  2. Size: 512.00M
     Shape: f32[]
     XLA label: %copy.1 = copy(x)
     Allocation type: argument
     ==========================
"""
GPU = """\
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate \
6291456 bytes.
BufferAssignment OOM Debugging.
BufferAssignment stats:
             parameter allocation:    6.00MiB
              constant allocation:         0B
        maybe_live_out allocation:    6.00MiB
     preallocated temp allocation:         0B
                 total allocation:   12.00MiB
              total fragmentation:         0B (0.00%)
Peak buffers:
\tBuffer 1:
\t\tSize: 6.00MiB
\t\tOperator: op_name="jit(join)/concatenate" source_file="/app/model.py" source_line=9
\t\tXLA Label: concatenate
\t\tShape: f32[4096,128,3]
\t\t==========================

\tBuffer 2:
\t\tSize: 384.0KiB
\t\tEntry Parameter Subshape: f32[256,128,3]
\t\t==========================
"""
ONE_LINE = [
    (
        "ValueError: RESOURCE_EXHAUSTED: Attempting to reserve 13.50G at the bottom of memory. That"
        " was not possible. There are 13.25G free, 0B reserved, and 13.25G reservable.",
        ("hbm", {"requested_bytes": 13.5 * GIB, "available_bytes": 13.25 * GIB}),
    ),
    (
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: Attempting to allocate 2.00G. That"
        " was not possible. There are 1.25G free.; (0x0x0_HBM0)",
        ("hbm", {"requested_bytes": 2 * GIB, "available_bytes": 1.25 * GIB}),
    ),
    (
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of"
        " memory on HBM, the total memory required for HLO temporaries (37.00G) exceeds available"
        " HBM (15.75G).",
        ("hbm", {"used_bytes": 37 * GIB, "available_bytes": 15.75 * GIB}),
    ),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
        " capacity of 23.50 GiB of which 1.25 GiB is free. Process 7 has 22 GiB memory in use.",
        ("device", {"requested_bytes": 2 * GIB, "available_bytes": 1.25 * GIB}),
    ),
    (
        "RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 23.50 GiB total"
        " capacity; 20.00 GiB already allocated; 256.00 MiB free; 21.00 GiB reserved in total)",
        (
            "device",
            {
                "requested_bytes": 512 * MIB,
                "used_bytes": 20 * GIB,
                "available_bytes": 256 * MIB,
            },
        ),
    ),
    (
        "jax.errors.JaxRuntimeError: INTERNAL: Error dispatching computation: Out of memory"
        " allocating 4000000000000 bytes.",
        ("device", {"requested_bytes": 4 * 10**12}),
    ),
    (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't"
        " allocate memory: you tried to allocate 80000000000000 bytes. Error code 12",
        ("host", {"requested_bytes": 8 * 10**13}),
    ),
    (
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 1.50 TiB for an array with"
        " shape (10, 20) and data type float64",
        ("host", {"requested_bytes": 1536 * GIB}),
    ),
]


def tables(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    found = texts_alone([read_text(io.BytesIO(text.encode()), "out.log")]).tables
    return rows(found["memory_shortage"]), rows(found.get("shortage_buffer", {}))


@pytest.mark.parametrize(("line", "expected"), ONE_LINE)
def test_a_message_of_one_line(line: str, expected: tuple[str, dict[str, float]]) -> None:
    ((said,), buffers) = tables(f"step 7\n{line}\nbye\n")
    assert (said["space"], {name: said[name] for name in expected[1]}) == expected
    assert said["raised"]
    assert not buffers


def test_what_a_tpu_s_compiler_lists() -> None:
    ((said,), (first, second)) = tables(f"step 7\n{HBM}done\n")
    assert said["program"] == "step"
    assert (said["used_bytes"], said["available_bytes"]) == (31.5 * GIB, 31.25 * GIB)
    assert (said["argument_bytes"], said["temporary_bytes"]) == (5.5 * GIB, 26 * GIB)
    assert said["fragmented_bytes"] == 512 * MIB
    assert (first["bytes"], first["unpadded_bytes"]) == (4 * GIB, 3 * GIB)
    assert (first["type"], first["shape"]) == ("bf16", (32, 4096, 16384))
    assert (first["file"], first["line"]) == ("/app/model.py", 42)
    assert (first["op_name"], first["label"]) == ("jit(step)/jvp(loss)/dot_general", "fusion.123")
    assert (second["kind"], second["label"], second["shape"]) == ("argument", "copy.1", ())


def test_each_line_may_begin_with_its_process() -> None:
    head, *further = HBM.splitlines()
    text = "\n".join(f"(EngineCore_DP0 pid=8) {line}" for line in (head, *further))
    ((said,), buffers) = tables(text)
    assert said["raised"]
    assert said["argument_bytes"] == 5.5 * GIB
    assert [each["bytes"] for each in buffers] == [4 * GIB, 512 * MIB]


def test_what_a_gpu_s_buffer_assignment_lists() -> None:
    ((said,), (first, second)) = tables(GPU)
    assert (said["requested_bytes"], said["used_bytes"]) == (6 * MIB, 12 * MIB)
    assert (said["argument_bytes"], said["temporary_bytes"]) == (6 * MIB, 0)
    assert (first["bytes"], first["line"], first["kind"]) == (6 * MIB, 9, "temporary")
    assert (second["bytes"], second["kind"]) == (384 << 10, "argument")


@pytest.mark.parametrize(
    "line",
    [
        "W1130 12:00:00.1 9 bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory. Out of"
        " memory while trying to allocate 6291456 bytes.",
        "I1130 RESOURCE_EXHAUSTED: CompileTimeHbmOom: the total memory required for HLO temporaries"
        " (37.00G) exceeds available HBM (15.75G). Retrying with rematerialization",
    ],
)
def test_what_is_only_logged_is_no_verdict(line: str) -> None:
    ((said,), _) = tables(line)
    assert not said["raised"]


@pytest.mark.parametrize(
    "line", ["He ran out of memory.", "Attempting to connect", "CUDA out of memory", "Exceeded"]
)
def test_other_lines_are_none(line: str) -> None:
    with pytest.raises(XladoctorError):
        tables(line)


def test_two_messages_are_two() -> None:
    said, buffers = tables(HBM + "retry\n" * 20 + GPU)
    assert [each["number"] for each in said] == [0, 1]
    assert [each["number"] for each in buffers] == [0, 0, 1, 1]


def test_what_an_exception_says_is_read_as_the_same() -> None:
    said = shortage(HBM.partition(": ")[2])
    assert said is not None
    assert said.raised
    assert len(said.buffers) == 2
    assert shortage("ValueError: shapes (2,) and (3,) not aligned") is None


@given(st.lists(st.sampled_from([*HBM.splitlines(), *GPU.splitlines(), "x", ""]), max_size=30))
def test_lines_in_any_order_are_read_without_a_fault(lines: list[str]) -> None:
    log = MemoryErrors()
    for line in lines:
        log.take(line)


@given(st.text(alphabet='BbufeSizesOm:0123456789.GMKi()"=[],{} \t', max_size=80))
def test_any_further_line_is_read_without_a_fault(line: str) -> None:
    log = MemoryErrors()
    log.take(GPU.splitlines()[0])
    log.take("Buffer 1:")
    log.take(line)
