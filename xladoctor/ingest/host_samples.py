"""Reads the samples of a captured process's loop threads (``host_samples.json``), and tells tracing
from other Python by them.

``recording/bootstrap/_xladoctor/sampler.py`` writes it: a count for each thread, activity and call
site.

A sample counts as tracing if it is inside a framework function, or at a line that instructions of
the captured graphs come from (an operator on a tensor leaves no Python frame), but not at a line
that only calls such lines. The share of these among the samples of Python is applied to the Python
time of each step, which makes it an estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from pathlib import Path
from typing import NamedTuple

import numpy as np

from xladoctor.facts.activity import HostSample, StartUp
from xladoctor.facts.records import HostSamplesFile
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.fact_rows import row
from xladoctor.ingest.frames import CallSite, Line
from xladoctor.ingest.interface import Columns, ProcessRows
from xladoctor.ingest.run_records import kept_record

_ENOUGH = 10  # samples of Python in the loop: a tenth of a second


class _Sample(NamedTuple):
    """A sample, its call site, and whether it is of tracing."""

    record: HostSample
    site: CallSite
    tracing: bool


def read_host_samples(
    path: Path, sites: CallSites, traced: Set[Line], sending: Set[Line], rows: ProcessRows
) -> float | None:
    """Fill ``host_sample`` and ``start_up``. Without the file they stay absent: nothing was seen.

    Args:
        traced: lines of operations in graphs.
        sending: lines that upload tensors.

    Returns:
        the share of the loop's Python that is tracing; None if that is unknown.
    """
    file = kept_record(
        path, decoded(HostSamplesFile), rows, "host samples are missing", "host_sample"
    )
    if file is None:
        return None
    rows.table("host_sample")
    samples = [
        _Sample(record, site, record.in_framework or (site.file, site.line) in traced)
        for record in file.samples
        for site in [sites[record.site]]
    ]
    for record, site, tracing in samples:
        columns = row(record, HostSample) | {"tracing": tracing}
        del columns["site"]
        rows.add("host_sample", **columns, **site.columns())
    if file.start_up:
        rows.table("start_up")
    for spent in file.start_up:
        columns = row(spent, StartUp)
        del columns["site"]
        rows.add("start_up", **columns, **sites[spent.site].columns())
    return _share(samples, sending)


def told_apart(table: str, columns: Columns, tracing: float | None) -> Columns:
    """``timeline_step`` or ``device_step`` with this share of Python's time as that of tracing."""
    if tracing is None:
        return columns
    other = "other_ns" if table == "timeline_step" else "idle_other_ns"
    spent = np.rint(tracing * columns[other]).astype(np.int64)
    divided = {other.replace("other", "tracing"): spent, other: columns[other] - spent}
    return {**columns, **divided}


def _share(samples: Sequence[_Sample], sending: Set[Line]) -> float | None:
    """The share of the loop's Python that is tracing; None with few samples.

    For the thread with the most samples.

    Args:
        sending: lines that upload tensors, which are left out, as the profiler records those.
    """
    loop = [
        each for each in samples if each.record.phase == "loop" and each.record.doing != "batch"
    ]
    by_thread: Counter[int] = Counter()
    for record, _, _ in loop:
        by_thread[record.thread] += record.count
    busiest = max(by_thread, key=lambda thread: by_thread[thread], default=None)
    python = [
        each
        for each in loop
        if each.record.thread == busiest
        and not each.record.doing
        and (each.record.in_framework or (each.site.file, each.site.line) not in sending)
    ]
    known = sum(each.record.count for each in python)
    if known < _ENOUGH:
        return None
    return sum(each.record.count for each in python if each.tracing) / known
