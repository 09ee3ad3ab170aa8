"""Python's time told apart by samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import Row, ingested
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.host_samples import read_host_samples
from xladoctor.ingest.interface import Ingested

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
    folder: Path, samples: list[Row], other: int = 1000, **tables: list[Row]
) -> tuple[Any, Ingested]:
    """The steps' columns afterwards, and everything."""
    result = ingested(tables)
    for table, name in (("timeline_step", "other_ns"), ("device_step", "idle_other_ns")):
        result.append(table, {"process": np.array([0, 0]), name: np.array([other, 10])})
    file = folder / "host_samples.json"
    file.write_text(json.dumps({"samples": samples}))
    read_host_samples(file, LINES, result.of(0))
    assert result.notes == []
    return result.batches[0][1], result


def frame(line: int, number: int = 1, parent: int = 0, process: int = 0) -> dict[str, Any]:
    """A Python frame of a graph."""
    return {
        "process": process,
        "program_id": 3,
        "frame": number,
        "parent": parent,
        "file": "train.py",
        "line": line,
    }


def test_samples_in_torch_and_at_lines_of_the_graph_are_of_tracing(tmp_path: Path) -> None:
    columns, result = split(
        tmp_path,
        [sample(20, 5, in_framework=True), sample(10, 7), sample(10, 9)],
        hlo_frame=[frame(7, 2, 1), frame(9)],  # line 9 only calls line 7
    )
    assert result.tables["host_sample"]["tracing"] == [True, True, False]
    assert columns["tracing_ns"].tolist() == [750, 8]
    assert columns["other_ns"].tolist() == [250, 2]
    assert result.batches[1][1]["idle_tracing_ns"].tolist() == [750, 8]


def test_lines_of_another_process_prove_nothing(tmp_path: Path) -> None:
    columns, _ = split(tmp_path, [sample(20, 7)], hlo_frame=[frame(7, process=1)])
    assert columns["tracing_ns"].tolist() == [0, 0]


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
    columns, _ = split(
        tmp_path,
        [sample(20, 5, in_framework=True), others],
        upload=[{"process": 0, "file": "train.py", "line": 30}],
    )
    assert columns["tracing_ns"].tolist() == [1000, 10]


@pytest.mark.parametrize("samples", [[], [sample(9, 5, in_framework=True)]])
def test_without_enough_samples_it_stays_unknown(tmp_path: Path, samples: list[Row]) -> None:
    columns, _ = split(tmp_path, samples)
    assert "tracing_ns" not in columns
    assert columns["other_ns"].tolist() == [1000, 10]
