"""Whether the kernels of a GPU were launched one by one, or in CUDA graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chrome.builder import Trace, training
from xladoctor.diagnosis.device_use import Kernels
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.report.devices import describe


def recorded(made: bool = False) -> Trace:
    """Steps of two CUDA graphs of 40 kernels each, and five kernels launched by themselves."""
    trace = Trace()
    for number in range(6):
        at = number * 10_000.0
        trace.step(number, at, 10_000).event("aten::mm", at + 1, 9_000)
        for graph in range(2):
            begin = at + 100 + 2_000 * graph
            trace.launch("gemm", begin, begin + 10, 20, by="cudaGraphLaunch", takes=20)
            for kernel in range(1, 40):
                trace.event(
                    "gemm",
                    begin + 10 + 25 * kernel,
                    20,
                    "kernel",
                    7,
                    0,
                    correlation=trace.correlation,
                )
        for kernel in range(5):
            trace.launch("add", at + 5_000 + 30 * kernel, at + 5_020 + 30 * kernel, 5)
        trace.copy("DtoD (Device -> Device)", at + 6_000, at + 6_010, 20)
        if made:
            trace.call("cudaGraphInstantiate", at + 7_000, 100)
    return trace


def without_calls(trace: Trace) -> Trace:
    trace.events = [event for event in trace.events if "cuda_runtime" not in event]
    return trace


@pytest.mark.parametrize(
    ("trace", "kernels", "told"),
    [
        (
            recorded(),
            Kernels("partly used", 510, 480, 0, 12, 0),
            "kernels a step: 85, 80 of them in 2 CUDA graphs, the others launched one by one",
        ),
        (
            recorded(made=True),
            Kernels("recorded again", 510, 480, 0, 12, 6),
            "kernels a step: 85, 80 of them in 2 CUDA graphs; 1 graph recorded a step",
        ),
        (
            training(6),
            Kernels("not used", 120, 0, 0, 0, 0),
            "kernels a step: 20, launched one by one; no CUDA graphs",
        ),
        (
            without_calls(training(6)),
            Kernels(None, 120, 0, 120, 0, 0),
            "kernels a step: 20; whether in CUDA graphs is not known, as the calls that launch them"
            " are not in the timeline",
        ),
        (
            Trace().launch("gemm", 0, 9, 9, by="hipGraphLaunch"),
            Kernels("used", 1, 1, 0, 1, 0),
            "kernels: 1, all in 1 CUDA graph",
        ),
        (
            Trace().launch("gemm", 0, 9, 9).call("cudaGraphInstantiate", 9),
            Kernels("recorded", 1, 0, 0, 0, 1),
            "kernels: 1, launched one by one; 1 graph recorded",
        ),
        (
            Trace().event("gemm", 0, 9, "kernel", 7, 0, graph_node_id=3).launch("add", 20, 30, 9),
            Kernels("partly used", 2, 1, 0, 0, 0),
            "kernels: 2, 1 of them in CUDA graphs, the others launched one by one",
        ),
    ],
)
def test_whether_cuda_graphs_are_used_is_told_of_each_gpu(
    tmp_path: Path, trace: Trace, kernels: Kernels, told: str
) -> None:
    evidence = load_evidence(str(trace.write(tmp_path / "trace.json")))
    (device,) = diagnose(evidence, load_rules()).devices
    assert device.kernels == kernels
    assert describe([device])[-1] == told
