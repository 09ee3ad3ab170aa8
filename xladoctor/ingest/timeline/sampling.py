"""Distinguishes tracing from other Python by the host samples.

A sample counts as tracing if it is inside a framework function, or at a line that instructions of
the captured graphs come from (an operator on a tensor leaves no Python frame), but not at a line
that only calls such lines. The share of these among the samples of Python is applied to the Python
time of each step, which makes it an estimate.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from xladoctor.ingest.interface import ProcessRows

_ENOUGH = 10  # samples of Python in the loop: a tenth of a second


def split_python(rows: ProcessRows) -> None:
    """Fill ``tracing_ns`` of a process's steps from its samples, and mark the tracing ones."""
    if not rows.ingested.tables.get("host_sample"):
        return
    _mark(rows, _leaves(rows) | {*rows.of("hlo_instruction", "file", "line")})
    share = _share(rows)
    if share is None:
        return
    for table, columns in rows.batches("timeline_step", "device_step"):
        other = "other_ns" if table == "timeline_step" else "idle_other_ns"
        tracing = np.rint(share * columns[other]).astype(np.int64)
        columns[other.replace("other", "tracing")] = tracing
        columns[other] = columns[other] - tracing


def _leaves(rows: ProcessRows) -> set[tuple[str, int]]:
    """The lines of frames that call no other frame: those of the operations themselves."""
    frames = list(rows.of("hlo_frame", "program_id", "frame", "parent", "file", "line"))
    callers = {(program, parent) for program, _, parent, _, _ in frames}
    return {
        (file, line) for program, frame, _, file, line in frames if (program, frame) not in callers
    }


def _mark(rows: ProcessRows, traced: set[tuple[str, int]]) -> None:
    samples = rows.ingested.tables["host_sample"]
    for row, owner in enumerate(samples["process"]):
        if owner == rows.process and not samples["tracing"][row]:
            samples["tracing"][row] = (samples["file"][row], samples["line"][row]) in traced


class _Sample(NamedTuple):
    """A row of ``host_sample``; ``samples``: how many it stands for."""

    phase: str
    thread: int
    doing: str
    in_framework: bool
    tracing: bool
    file: str
    line: int
    samples: int


def _share(rows: ProcessRows) -> float | None:
    """The share of the loop's Python that is tracing; None with few samples.

    For the thread with the most samples. Lines that upload tensors are left out, as the profiler
    records those.
    """
    sampled = (_Sample(*row) for row in rows.of("host_sample", *_Sample._fields[:-1], "count"))
    loop = [each for each in sampled if each.phase == "loop" and each.doing != "batch"]
    if not loop:
        return None
    by_thread: Counter[int] = Counter()
    for each in loop:
        by_thread[each.thread] += each.samples
    busiest = max(by_thread, key=lambda thread: by_thread[thread])
    sending = {*rows.of("upload", "file", "line")}
    python = [
        each
        for each in loop
        if each.thread == busiest
        and not each.doing
        and (each.in_framework or (each.file, each.line) not in sending)
    ]
    known = sum(each.samples for each in python)
    if known < _ENOUGH:
        return None
    return float(sum(each.samples for each in python if each.tracing) / known)
