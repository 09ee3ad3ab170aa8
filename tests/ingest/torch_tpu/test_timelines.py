"""Timelines of TorchTPU: a recorded one of torch.profiler, with some of its operators, over a CPU;
and made ones, with a TPU as XProf documents it, and a host whose events torch_tpu 0.2.0 has named.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.chrome.builder import Trace
from tests.xspace import builder, devices
from xladoctor.doctor import load_evidence
from xladoctor.evidence.interface import Evidence
from xladoctor.ingest.timeline.activity import _for_compiler

RECORDED = Path(__file__).parent / "recorded" / "eager.pt.trace.json.gz"


def one(evidence: Evidence, query: str) -> Any:
    return evidence.database.scalar(query)


# -- torch.profiler --------------------------------------------------------------------------------


def test_a_trace_of_torch_profiler_is_recognised() -> None:
    assert load_evidence(str(RECORDED)).frontend == "torch_tpu"


def test_a_read_that_waits_for_the_compiler_counts_as_compiling() -> None:
    evidence = load_evidence(str(RECORDED))

    rows = evidence.database.rows(
        "SELECT wait_ns / 1e6 AS wait_ms, compile_ns / 1e6 AS compile_ms FROM timeline_step"
        " ORDER BY begin_ns"
    )
    compiling = [row["compile_ms"] > 10 for row in rows]
    assert compiling == [number in (1, 2, 3, 7, 8) for number in range(12)]
    assert all(row["wait_ms"] < 10 for row in rows)
    assert one(evidence, "SELECT count(*) FROM host_sync WHERE kind = 'item'") == 7


@pytest.mark.parametrize("marked", [True, False])
def test_items_wait_only_where_the_program_is_of_torch_tpu(marked: bool, tmp_path: Path) -> None:
    trace = Trace()
    for number in range(8):
        begin = number * 1000.0
        trace.event(f"ProfilerStep#{number}", begin, 1000, category="user_annotation")
        trace.event("aten::item", begin + 100, 400)
        trace.event("aten::_local_scalar_dense", begin + 101, 398)
        trace.event("aten::to", begin + 102, 390)
        if marked:
            trace.event("torchtpu_fx_to_mlir", begin + 600, 0.1)
    path = trace.write(tmp_path / "trace.json")

    evidence = load_evidence(str(path))

    waits = "SELECT sum(wait_ns) / 1000 FROM timeline_step"
    assert one(evidence, waits) == (8 * 400 if marked else 0)


@pytest.mark.parametrize(
    ("lasted", "compiling"),
    [
        ([900, 1, 1, 1, 1, 1, 1, 1], [0]),
        ([1, 100] * 6, []),  # two reads in a step, one behind its computation
        ([900, 1, 1, 1, 900, 1, 1, 900], []),  # it goes on: not told apart
        ([900, 1, 1], []),
        ([], []),
    ],
)
def test_a_wait_is_for_the_compiler_if_the_last_ones_are_far_shorter(
    lasted: list[int], compiling: list[int]
) -> None:
    begin = np.arange(len(lasted), dtype=np.int64) * 1000
    end = begin + np.array(lasted, np.int64)

    assert np.flatnonzero(_for_compiler(begin, end)).tolist() == compiling


# -- a TPU, as documented -------------------------------------------------------------------------


def tpu(sparse: bool = False) -> builder.Space:
    """Three steps, which the host marks; those of the device are on its own line ``Steps``."""
    space = builder.Space("tpu-vm")
    for number, runs in devices._TPU_RUNS.items():
        devices._tpu_core(space.plane(f"/device:TPU:{number}"), runs)
    host = space.plane("/host:CPU")
    line = host.line("python", 1, devices.ORIGIN_NS, display_name="python")
    for number, (begin, end) in enumerate(((0, 200), (200, 300), (300, 400))):
        line.event("train", begin, end - begin, _r=1, step_num=number)
        line.event("TpuMallocAndMemcpyHtoD", begin, 10)
        line.event("ExecutionTask::Run", begin + 20, 30).event("CompileTraversal", begin + 21, 10)
        line.event("PjRtCApiLoadedExecutable::Execute", begin + 35, 10)
        line.event("AtenLocalScalarDense", begin + 60, end - begin - 60)
        line.event("CopyTpuToCpu", begin + 61, end - begin - 62)
    worker = host.line("tf_tt_compile/7", 2, devices.ORIGIN_NS)
    worker.event("PjRtCApiClient::CompileAndLoad(tt_jit_linear)", 30, 60)
    if sparse:
        core = space.plane("/device:TPU:0 SparseCore 0")
        core.line("Sparse Core Steps", 1, devices.ORIGIN_NS).event("0", 0, 390)
        core.line("Sparse Core Ops", 3, devices.ORIGIN_NS).event("sparse-gather.1", 0, 110)
    space.started_at(1_700_000_000_000_000_000)
    return space


def written(space: builder.Space, folder: Path) -> Evidence:
    path = folder / "host.xplane.pb"
    path.write_bytes(space.bytes())
    return load_evidence(str(path))


def test_a_tpu_has_its_steps_modules_and_operations(tmp_path: Path) -> None:
    evidence = written(tpu(), tmp_path)

    assert evidence.frontend == "torch_tpu"
    assert one(evidence, "SELECT count(*) FROM timeline_step") == 3
    assert evidence.database.rows("SELECT kind, name FROM device ORDER BY device") == [
        {"kind": "TPU", "name": f"/device:TPU:{number}"} for number in (0, 1)
    ]
    busy = "SELECT sum(busy_ns) / 1000 FROM device_step WHERE device = 0"
    assert one(evidence, busy) == sum(end - begin for begin, end in devices._TPU_RUNS[0])
    names = evidence.database.rows("SELECT DISTINCT hlo_op FROM device_op ORDER BY ALL")
    assert {"while.5", "all-reduce.2"} <= {row["hlo_op"] for row in names}


def test_what_the_host_does_is_told_by_its_events(tmp_path: Path) -> None:
    evidence = written(tpu(), tmp_path)

    parts = ("upload", "compile", "dispatch", "wait")
    sums = ", ".join(f"sum({part}_ns) / 1000 AS {part}" for part in parts)
    assert evidence.database.rows(f"SELECT {sums} FROM timeline_step") == [
        {"upload": 30, "compile": 30, "dispatch": 60, "wait": 220}
    ]


def test_sparse_cores_are_named_and_change_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "without"
    folder.mkdir()
    without, evidence = written(tpu(), folder), written(tpu(sparse=True), tmp_path)

    busy = "SELECT sum(busy_ns) FROM device_step"
    assert one(evidence, busy) == one(without, busy)
    assert any("1 SparseCore of TPUs ran is not counted" in note for note in evidence.notes)
    assert not any("SparseCore" in note for note in without.notes)
