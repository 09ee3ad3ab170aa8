"""How often a call site launched before it compiled again, which tells warm-up apart.

A log of level 2 tells it itself, with a block for each execution. The capture's own log has level
1; there the step log does: exactly for barriers, by the steps that passed for other call sites.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.interface import Columns
from xladoctor.ingest.torch_xla.analysis_log import Block

#: (launches before this compilation, launches in all where known) of a call site.
Launches = Callable[[CallSite, dict[str, Any]], tuple[int, int | None]]


def from_blocks(
    blocks: Iterable[Block], locate: Callable[[Block], CallSite]
) -> dict[int, tuple[int, int | None]]:
    """By the identity of each compilation's block, from the executions around it."""
    before: Counter[CallSite] = Counter()
    known: dict[int, tuple[CallSite, int]] = {}
    for block in blocks:
        site = locate(block)
        if block.kind == "execution":
            before[site] += 1
        else:
            known[id(block)] = (site, before[site])
    return {identity: (count, before[site]) for identity, (site, count) in known.items()}


def from_steps(process: int, steps: Columns) -> Launches:
    """From the step log of a process; without one, from the compilations seen so far."""
    rows = [dict(zip(steps, values, strict=True)) for values in zip(*steps.values(), strict=True)]
    rows = [row for row in rows if row["process"] == process and not row["tail"]]
    at = {(row["thread"], row["index"]): row for row in rows}
    totals: Counter[Any] = Counter()
    last: dict[Any, int] = {}
    for row in rows:
        totals[row["thread"], row["file"], row["line"], row["via"]] += row["barriers"]
        last[row["thread"]] = max(last.get(row["thread"], 0), row["index"])
    first: dict[Any, int] = {}
    seen: Counter[CallSite] = Counter()

    def launches(site: CallSite, row: dict[str, Any]) -> tuple[int, int | None]:
        thread, step = row.get("thread"), row.get("step")
        seen[site] += 1
        if step is None or thread not in last:  # only the order of compilations is known
            return seen[site] - 1, None
        closed = at.get((thread, step))
        if closed and (closed["file"], closed["line"], closed["via"]) == (
            site.file, site.line, site.via
        ):  # fmt: skip
            return closed["ordinal"], totals[thread, site.file, site.line, site.via]
        began = first.setdefault((thread, site), step)
        return step - began, max(last[thread], step) - began + 1

    return launches
