"""Warnings of torch.compile, and of AWS Neuron, among a program's other output."""

from __future__ import annotations

from pathlib import Path

import pytest

from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.ingest.interface import IngestError

STACK = """
   File "/home/me/train.py", line 30, in step
    return model(x)
   File "/opt/lib/torch/nn/modules/linear.py", line 125, in forward
    return F.linear(input, self.weight, self.bias)
"""
HEAD = "W0402 11:02:33.110000 44 site-packages/torch/_inductor/cudagraph_utils.py:205] [0/0] "
CPU = "skipping cudagraphs due to cpu device (primals_3). Found from : " + STACK


def findings(folder: Path, text: str) -> list[tuple[str | None, int | None, str, str, str]]:
    """File, line, severity, message and fix of each finding."""
    file = folder / "out.log"
    file.write_text(f"epoch 1\n{text}epoch 2\n", encoding="utf-8")
    found = diagnose(load_evidence(str(file)), load_rules()).findings
    assert {each.rule for each in found} == {"XD708"}
    return [
        (
            each.locations[0].file if each.locations else None,
            each.locations[0].line if each.locations else None,
            each.severity,
            each.message,
            each.fix,
        )
        for each in found
    ]


@pytest.mark.parametrize("head", ["", HEAD, HEAD + "[__perf_hints] ", "trainer-1  | "])
def test_why_cuda_graphs_are_skipped(tmp_path: Path, head: str) -> None:
    text = "".join(f"{head}{line}\n" for line in CPU.splitlines() if line)
    ((file, line, severity, message, fix),) = findings(tmp_path, text)
    assert (file, line, severity) == ("/home/me/train.py", 30, "warning")
    assert "because of cpu device (primals_3)" in message
    assert fix.startswith("Put the CPU tensor, an attribute or an argument, on the GPU")


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("skipping cudagraphs due to mutated inputs (2 instances)", "(2 instances)", "Do not"),
        ("skipping cudagraphs due to multiple devices: cuda:0, cuda:1", "cuda:1", "Keep all"),
        (
            "skipping cudagraphs due to disabling cudagraphs due to incompatible op aten.x.default"
            ' Found from   File "/home/me/train.py", line 30, in step',
            "because of incompatible op aten.x.default",
            "Keep that operator",
        ),
        ("skipping cudagraphs due to something of a later release", "later release", "Move what"),
        (
            "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input"
            " size. We have observed 9 distinct sizes.",
            "observed 9 distinct sizes",
            "Pad inputs",
        ),
        (
            "/opt/lib/torch/_inductor/compile_fx.py:194: UserWarning: TensorFloat32 tensor cores"
            " for float32 matrix multiplication available but not enabled.\n  warnings.warn(",
            "TensorFloat32 tensor cores",
            'Call torch.set_float32_matmul_precision("high")',
        ),
        (
            "09:00:00.123:  17  INFO ||NEURON_CACHE||: Compile cache path: /tmp/tmpab1_d34z",
            "/tmp/tmpab1_d34z, a folder",
            "Set NEURON_COMPILE_CACHE_URL",
        ),
        (
            "WARNING:Neuron:torch.neuron.trace failed on _NeuronGraph$8; falling back to native"
            " python function call",
            "could not compile _NeuronGraph$8, which",
            "Look above",
        ),
        (
            "INFO:Neuron:There are 3 ops of 1 different types in the TorchScript that are not"
            " compiled by neuron-cc: aten::embedding, (For more information see x)",
            "could not compile aten::embedding, which",
            "Look above",
        ),
    ],
)
def test_other_warnings(tmp_path: Path, text: str, message: str, fix: str) -> None:
    ((_, _, _, said, cure),) = findings(tmp_path, f"{text}\n")
    assert message in said
    assert cure.startswith(fix)


def test_several_reasons_are_all_kept(tmp_path: Path) -> None:
    other = CPU.replace("primals_3", "arg1_1").replace("line 30", "line 44")
    assert [found[1] for found in findings(tmp_path, CPU + other)] == [30, 44]


def test_a_cache_that_is_kept_is_no_trouble(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="Neuron"):
        findings(tmp_path, "INFO ||NEURON_CACHE||: Compile cache path: /var/tmp/neuron-cache\n")
