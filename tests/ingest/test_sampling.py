"""Python's time told apart by samples."""

from __future__ import annotations

import json
from collections.abc import Set
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import Row
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.frames import CallSite, Line
from xladoctor.ingest.hlo import Module
from xladoctor.ingest.host_samples import read_host_samples, told_apart
from xladoctor.ingest.interface import Columns, Ingested

LINES = CallSites(tuple(CallSite("train.py", line) for line in range(50)))


def sample(count: int, line: int, **fields: Any) -> Row:
    return {
        "thread": 1,
        "main": True,
        "doing": None,
        "in_framework": False,
        "site": line,
        "count": count,
        **fields,
    }


def split(
    folder: Path,
    samples: list[Row],
    traced: Set[Line] = frozenset(),
    sending: Set[Line] = frozenset(),
) -> tuple[Columns, Columns, Ingested]:
    """The columns of the steps and of a device's afterwards, and everything."""
    result = Ingested()
    file = folder / "host_samples.json"
    file.write_text(json.dumps({"samples": samples}))
    tracing = read_host_samples(file, LINES, traced, sending, result.of(0))
    assert result.notes == []
    python = np.array([1000, 10])
    steps = told_apart("timeline_step", {"other_ns": python}, tracing)
    return steps, told_apart("device_step", {"idle_other_ns": python}, tracing), result


def test_samples_in_torch_and_at_lines_of_the_graph_are_of_tracing(tmp_path: Path) -> None:
    frames = {"frame": [1, 2], "parent": [0, 1], "file": ["train.py"] * 2, "line": [9, 7]}
    module = Module(3, {}, {"file": [], "line": []}, frames, 0, None)
    columns, of_device, result = split(
        tmp_path,
        [sample(20, 5, in_framework=True), sample(10, 7), sample(10, 9)],
        module.traced_lines(),  # line 9 only calls line 7
    )
    assert result.tables["host_sample"]["tracing"] == [True, True, False]
    assert columns["tracing_ns"].tolist() == [750, 8]
    assert columns["other_ns"].tolist() == [250, 2]
    assert of_device["idle_tracing_ns"].tolist() == [750, 8]


@pytest.mark.parametrize(
    "others",
    [
        sample(90, 9, doing="barrier"),  # the profiler sees it
        sample(90, 9, doing="batch", thread=2, main=False),  # a loader's thread
        sample(19, 9, thread=3),  # another thread, which does less
        sample(90, 30),  # sends tensors
        sample(90, 9, phase="warmup"),
    ],
)
def test_samples_that_are_not_of_the_loops_python(tmp_path: Path, others: Row) -> None:
    samples = [sample(20, 5, in_framework=True), others]
    columns, _, _ = split(tmp_path, samples, sending={("train.py", 30)})
    assert columns["tracing_ns"].tolist() == [1000, 10]


@pytest.mark.parametrize("samples", [[], [sample(9, 5, in_framework=True)]])
def test_without_enough_samples_it_stays_unknown(tmp_path: Path, samples: list[Row]) -> None:
    columns, _, _ = split(tmp_path, samples)
    assert "tracing_ns" not in columns
    assert columns["other_ns"].tolist() == [1000, 10]
