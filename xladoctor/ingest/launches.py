"""Counts a call site's launches before it compiled again, to recognise warm-up.

A log of level 2 has a block for each execution. The capture's own log has level 1; then the counts
come from the step log: exactly for barriers, and by elapsed steps for other call sites.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import Block

_PLACE = ("file", "line", "via")
#: (launches before this compilation, all launches or None) by call site, thread and step.
Launches = Callable[[CallSite, int | None, int | None], tuple[int, int | None]]


def from_blocks(
    blocks: Iterable[Block], locate: Callable[[Block], CallSite]
) -> list[tuple[int, int | None]]:
    """The launches of each compilation, in order, from the executions around it."""
    before: Counter[CallSite] = Counter()
    known: list[tuple[CallSite, int]] = []
    for block in blocks:
        site = locate(block)
        if block.kind == "execution":
            before[site] += 1
        else:
            known.append((site, before[site]))
    return [(count, before[site]) for site, count in known]


def from_steps(log: Gathered) -> Launches:
    """The launches from a process's step log; if that is empty, from the compilations so far."""
    by_reads = _from_reads(log)
    at: dict[tuple[int, int], tuple[tuple[Any, ...], int]] = {}  # place and ordinal of each step
    places: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    totals: Counter[Any] = Counter()
    last: dict[Any, int] = {}
    names = "tail", "thread", "index", "barriers", "ordinal", *_PLACE
    for tail, thread, index, barriers, ordinal, *place in log.of("step", *names):
        if not tail:
            where = tuple(place)
            at[thread, index] = places.setdefault(where, where), ordinal  # they repeat
            totals[thread, *place] += barriers
            last[thread] = max(last.get(thread, 0), index)
    first: dict[Any, int] = {}
    seen: Counter[CallSite] = Counter()

    def launches(site: CallSite, thread: int | None, step: int | None) -> tuple[int, int | None]:
        seen[site] += 1
        if step is None or thread is None or thread not in last:  # only the order is known
            return seen[site] - 1, None
        place = site.file, site.line, site.via
        closed, ordinal = at.get((thread, step), (None, 0))
        if closed == place:
            return ordinal, totals[thread, *place]
        read = by_reads(site, thread, step)
        if read is not None:
            return read
        began = first.setdefault((thread, site), step)
        return step - began, max(last[thread], step) - began + 1

    return launches


def _from_reads(log: Gathered) -> Callable[[CallSite, int, int], tuple[int, int] | None]:
    """The launches of lines that read; None for others. Each compilation is of a later read."""
    counts: dict[Any, Counter[int]] = {}
    for thread, step, count, *place in log.of("host_sync", "thread", "step", "count", *_PLACE):
        counts.setdefault((thread, *place), Counter())[step] += count
    ordered = {key: sorted(of_steps) for key, of_steps in counts.items()}
    until = {
        key: [0, *accumulate(counts[key][step] for step in steps)] for key, steps in ordered.items()
    }
    seen: Counter[Any] = Counter()

    def launches(site: CallSite, thread: int, step: int) -> tuple[int, int] | None:
        key = thread, site.file, site.line, site.via
        if key not in counts:
            return None
        before, total = until[key][bisect_left(ordered[key], step)], until[key][-1]
        seen[thread, site, step] += 1
        within = min(seen[thread, site, step], max(1, counts[key][step])) - 1
        return before + within, max(total, before + within + 1)

    return launches
