"""What executables write, summed up and in words."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.tpu_check.compiler.outcome import Compiled, DoesNotFit, Memory, Outcome, Refused
from xladoctor.tpu_check.graphs import Graph
from xladoctor.tpu_check.summary import Collective, summarize
from xladoctor.tpu_check.text import Checked, text_of
from xladoctor.tpu_check.written import Written, read_written

RECORDED = Path(__file__).with_name("recorded")
GRAPH = Graph("jit_step", b"", "stablehlo", Path("graphs/step.mlir"))
VERSIONS = {"jax": "0.12.0.1", "libtpu": "0.0.50.1"}


def array(opcode: str, bytes_: int, padded: int | None, **more: Any) -> Written:
    described: dict[str, Any] = {
        "operation": f"{opcode}.1",
        "opcode": opcode,
        "type": "f32",
        "shape": (4, 4),
        "layout": "{1,0:T(8,128)}",
        "memory": "hbm",
        "bytes": bytes_,
        "padded_bytes": padded,
        "times": 1,
        "op_name": "",
        "site": NOWHERE,
    }
    return Written(**{**described, **more})


LINE = CallSite("train.py", 7, "loss")


def test_padding_is_that_of_lines_in_all_their_turns() -> None:
    summary = summarize(
        [
            array("fusion", 100, 400, times=3, site=LINE),
            array("add", 100, 150, site=LINE),
            array("fusion", 100, 100, site=CallSite("train.py", 9, "loss")),
            array("custom-call", 100, None),
        ]
    )

    assert (summary.bytes, summary.padding, summary.unknown) == (600, 950, 1)
    (line,) = summary.padded
    assert (line.bytes, line.arrays, line.largest.opcode) == (950, 4, "fusion")
    assert summary.padding_share == pytest.approx(950 / 1550)


def test_copies_are_moves_and_transfers_are_none() -> None:
    summary = summarize(
        [array("copy", 100, 200, op_name="w"), array("copy-done", 100, 100), array("dot", 700, 700)]
    )

    assert [(line.bytes, line.largest.op_name) for line in summary.moved] == [(200, "w")]
    assert summary.moved_share == 0.2


def test_collectives_count_once_be_they_asynchronous_or_not() -> None:
    summary = summarize(
        [
            array("all-reduce-done", 100, 100),
            array("all-reduce", 100, 100, times=2),
            array("all-gather", 50, 64),
            array("reduce", 50, 64),
        ]
    )

    assert summary.collectives == (
        Collective("all-reduce", 3, 300, 1),
        Collective("all-gather", 1, 64, 0),
    )


def test_an_executable_that_writes_nothing() -> None:
    assert (summarize([]).padding_share, summarize([]).moved_share) == (0, 0)


def checked(outcome: Outcome) -> str:
    proto = gzip.decompress((RECORDED / "odd_sizes.pb.gz").read_bytes())
    summary = summarize(read_written(proto, Folders())) if isinstance(outcome, Compiled) else None
    return text_of([Checked(GRAPH, "v5e", outcome, summary)])


def test_what_fits_has_memory_padding_and_copies() -> None:
    memory = Memory(peak=6 << 20, arguments=3010560, outputs=2663424, aliased=1 << 10)
    text = checked(
        Compiled(Path(), memory, "v5e:1x1", "TPU v5 lite", 1, 1161, 1.5, 2.0, versions=VERSIONS)
    )

    lines = text.splitlines()
    assert lines[:5] == [
        "jit_step (step.mlir), for v5e:1x1: fits",
        "  1,161 operations, compiled in 1.5 s; jax 0.12.0.1, libtpu 0.0.50.1",
        "  memory    6 MiB at the peak: 2.87 MiB of arguments, 2.54 MiB of results, of",
        "    which 1 KiB are in the place of donated arguments",
        "  padding   21% of the 6.08 MiB that a run writes fills tiles",
    ]
    assert "record.py:" in lines[5]
    assert lines[6].split() == ["fusion", "f32[515,515]{1,0:T(8,128)}"]
    assert "  copies    0% of it are copies, transposes and reshapes" in lines
    assert "not how fast it runs" in text
    assert max(len(line) for line in lines if "record.py" not in line) <= 80


def test_what_does_not_fit_has_the_memory_of_a_device_but_no_size() -> None:
    text = checked(
        DoesNotFit("needs 18.31G", "HLO temporaries", 18 << 30, 16911433728, "v5e:1x1", 1, 9, 1.0)
    )

    assert text.startswith("jit_step (step.mlir), for v5e:1x1: does not fit\n")
    assert "a device has 15.8 GiB" in text
    assert "18" not in text


def test_a_refusal_says_what_to_do() -> None:
    text = checked(Refused("host_callback", "it calls back to Python", "leave that out"))

    assert text.startswith(
        "jit_step (step.mlir), for v5e: not compiled\n  it calls back to Python.\n  leave that out"
    )
