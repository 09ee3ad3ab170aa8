"""Distinguishes tracing from other Python by the host samples.

A sample counts as tracing if it is inside a framework function, or at a line that instructions of
the captured graphs come from (an operator on a tensor leaves no Python frame), but not at a line
that only calls such lines. The share of these among the samples of Python is applied to the Python
time of each step, which makes it an estimate.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from xladoctor.ingest.interface import Columns, Ingested

_ENOUGH = 10  # samples of Python in the loop: a tenth of a second


def split_python(process: int, ingested: Ingested) -> None:
    """Fill ``tracing_ns`` of a process's steps from its samples, and mark the tracing ones."""
    samples = ingested.tables.get("host_sample")
    if not samples:
        return
    traced = _leaves(process, ingested) | _lines(process, ingested, "hlo_instruction")
    _mark(process, samples, traced)
    share = _share(process, samples, _lines(process, ingested, "upload"))
    if share is None:
        return
    for table, columns in ingested.batches:
        if table in ("timeline_step", "device_step") and _owner(columns) == process:
            other = "other_ns" if table == "timeline_step" else "idle_other_ns"
            tracing = np.rint(share * columns[other]).astype(np.int64)
            columns[other.replace("other", "tracing")] = tracing
            columns[other] = columns[other] - tracing


def _lines(process: int, ingested: Ingested, table: str) -> set[tuple[str, int]]:
    """The lines that a table names."""
    columns = ingested.tables.get(table, {})
    rows = zip(*(columns.get(key, ()) for key in ("process", "file", "line")), strict=True)
    return {(file, line) for owner, file, line in rows if owner == process}


def _leaves(process: int, ingested: Ingested) -> set[tuple[str, int]]:
    """The lines of frames that call no other frame: those of the operations themselves."""
    columns = ingested.tables.get("hlo_frame", {})
    names = ("process", "program_id", "frame", "parent", "file", "line")
    rows = [
        row
        for row in zip(*(columns.get(name, ()) for name in names), strict=True)
        if row[0] == process
    ]
    callers = {(program, parent) for _, program, _, parent, _, _ in rows}
    return {
        (file, line) for _, program, frame, _, file, line in rows if (program, frame) not in callers
    }


def _mark(process: int, samples: Columns, traced: set[tuple[str, int]]) -> None:
    for row, owner in enumerate(samples["process"]):
        if owner == process and not samples["tracing"][row]:
            samples["tracing"][row] = (samples["file"][row], samples["line"][row]) in traced


def _share(process: int, samples: Columns, sending: set[tuple[str, int]]) -> float | None:
    """The share of the loop's Python that is tracing; None with few samples.

    For the thread with the most samples. Lines that upload tensors are left out, as the profiler
    records those.
    """
    names = (
        "process",
        "phase",
        "thread",
        "doing",
        "in_framework",
        "tracing",
        "file",
        "line",
        "count",
    )
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(*(samples[name] for name in names), strict=True)
    ]
    rows = [
        row
        for row in rows
        if row["process"] == process and row["phase"] == "loop" and row["doing"] != "batch"
    ]
    if not rows:
        return None
    by_thread: Counter[int] = Counter()
    for row in rows:
        by_thread[row["thread"]] += row["count"]
    busiest = max(by_thread, key=lambda t: by_thread[t])
    python = [
        row
        for row in rows
        if row["thread"] == busiest
        and not row["doing"]
        and (row["in_framework"] or (row["file"], row["line"]) not in sending)
    ]
    known: int = sum(row["count"] for row in python)
    if known < _ENOUGH:
        return None
    return float(sum(row["count"] for row in python if row["tracing"]) / known)


def _owner(columns: dict[str, Any]) -> int | None:
    return int(columns["process"][0]) if len(columns["process"]) else None
