"""Texts that hold no evidence are refused by their own name, with what to give instead."""

from __future__ import annotations

import io
import time

import pytest

from xladoctor.ingest.console_text import read_text
from xladoctor.ingest.interface import IngestError
from xladoctor.ingest.other_formats import described

TEXTS = {
    "the log of AWS Neuron's compiler": (
        "2025-05-05 12:00:00.000002:  9  INFO ||NEURON_CC_WRAPPER||: Using a cached neff at /x\n"
    ),
    "a notebook": '{"cells": [{"cell_type": "code", "source": [], "outputs": []}], "nbformat": 4}',
    "a page of tlparse": "<html><head><title>tlparse</title></head><body>x</body></html>",
    "a table of PyTorch's profiler": (
        "   Name    Self CPU %      Self CPU   CPU total %     CPU total    # of Calls\n"
        "aten::add         0.10%       1.000us         0.10%       1.000us       1\n"
    ),
    "the state of a device": "| NVIDIA-SMI 550   Driver Version: 550   CUDA Version: 12.4 |\n",
    "a graph as text": "HloModule jit_f\n\nENTRY main {\n  ROOT a = f32[] x()\n}\n",
    "a graph in StableHLO": "module @jit_f {\n  %0 = stablehlo.add %a, %b : tensor<4xf32>\n",
    "a table of cProfile": "   ncalls  tottime  percall  cumtime  percall\n",
    "a list of packages": "Package    Version\n---------- -------\ntorch      2.9.0\n",
    "a description of an environment": "Collecting environment information\nPyTorch version: 2.9\n",
    "stacks of threads": 'Thread 12 (idle): "MainThread"\n    wait (threading.py:320)\n',
    "an error of a program": 'Traceback (most recent call last):\n  File "a.py", line 3\nOSError\n',
    "source code": "import torch\n\ndef train():\n    pass\n",
    "a program's own output": "epoch 0 loss: 2.31\nepoch 1 loss: 2.11\n",
    "a picture": "\x89PNG\r\n\x1a\n\0\0",
    "a zip archive": "PK\x03\x04\0\0\0",
}


@pytest.mark.parametrize("what", TEXTS)
def test_format_is_named(what: str) -> None:
    with pytest.raises(IngestError) as caught:
        read_text(io.BytesIO(TEXTS[what].encode("latin-1")), "given")
    assert caught.value.what.startswith(f"given: {what}")
    assert 1 <= len(caught.value.hint.splitlines()) <= 2


def test_other_texts_have_no_name() -> None:
    assert described(b"my training is slow on a TPU, why?\n") is None


@pytest.mark.parametrize("part", [b"\n", b" ", b"a", b"1 ", b"loss ", b"x==1\n", b"(", b"%a = b["])
def test_time_grows_with_the_size_alone(part: bytes) -> None:
    began = time.process_time()
    described(part * ((1 << 16) // len(part)))
    assert time.process_time() - began < 10
