"""A profile of ten steps, of which two compile, as torch 2.13 with torch_tpu 0.2.0 wrote it on a
CPU; without the arguments of events.
"""

from __future__ import annotations

from pathlib import Path

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.ingest.timeline.activity import runtime_names

PROFILE = str(Path(__file__).parent / "recorded/torch_tpu-2.13.json.gz")


def test_the_profile_is_known_by_its_events() -> None:
    assert load_evidence(PROFILE).frontend == "torch_tpu"


def test_steps_and_waits_are_those_of_the_thread_of_the_program() -> None:
    diagnosis = diagnose(load_evidence(PROFILE), load_rules())

    assert diagnosis.steps is not None
    assert diagnosis.steps.count == 10
    parts, whole = diagnosis.time.parts, diagnosis.time.whole_s
    assert parts is not None
    assert whole
    assert parts.read_s + parts.barrier_s > 0.9 * whole


def test_calls_of_the_runtime_are_told_from_python() -> None:
    names = [
        "CopyTpuToCpu",
        "CopyTpuToCpu::MaterializeBase",
        "Traversal::BuildGraphKey",
        "PjRtCApiClient::CompileAndLoad(tt_jit_linear)",
        "PjRtCApiCompiler::BufferFromHostBuffer(f32[8,16])",
        "TpuMallocAndMemcpyHtoD",
        "Optimizer.step",
    ]

    assert runtime_names(names).tolist() == [True] * 6 + [False]
