"""Calls of compiled functions in a timeline, among which a log's compilations are placed."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns, Ingested


class Calls(NamedTuple):
    """The calls of a process's compiled functions, and its steps.

    Attributes:
        begins: by function, the times at which it was called, in order.
        log: columns of table ``step``.
        rows: the rows of the process, in order of time.
    """

    begins: dict[str, list[int]]
    log: Columns
    rows: list[int]

    def place(self, compilation: Mapping[str, Any]) -> dict[str, Any]:
        """The columns that they add to a compilation: step, thread, and calls of its function.

        A call begins once it has been compiled. Calls before the timeline are not seen, so there
        may have been more, but not fewer.
        """
        end, log = compilation["end_ns"], self.log
        if end is None:
            return {}
        at = bisect_right(self.rows, end, key=lambda row: int(log["begin_ns"][row])) - 1
        if at < 0 or end > log["end_ns"][self.rows[at]]:
            return {}
        row = self.rows[at]
        known = {"step": log["index"][row], "thread": log["thread"][row]}
        begins = self.begins.get(compilation["compile_id"].partition("/")[0], [])
        before = bisect_right(begins, end)
        if before < compilation["ordinal"]:
            return known
        return {**known, "ordinal": before, "launches": len(begins)}


def add_placed(rows: Gathered, ingested: Ingested) -> None:
    """Add tables of compilations placed in steps, and count them in the steps."""
    made = rows.table("compilation")
    placed = Counter(zip(made.get("process", ()), made.get("step", ()), strict=True))
    steps = ingested.tables.get("step", {})
    for row, of in enumerate(zip(steps.get("process", ()), steps.get("index", ()), strict=True)):
        steps["compilations"][row] += placed[of]
    rows.move(ingested)


def calls_of(process: int, ingested: Ingested) -> Calls:
    """The calls and steps in a process's timeline; empty without one."""
    begins: dict[str, list[int]] = {}
    for table, rows in ingested.batches:
        if table == "compiled_part" and process in rows["process"][:1]:
            functions = [text.partition("/")[0] for text in rows["compile_id"].texts]
            for code, begin in zip(
                rows["compile_id"].codes.tolist(), rows["begin_ns"].tolist(), strict=True
            ):
                begins.setdefault(functions[code], []).append(begin)
    log = ingested.tables.get("step", {})
    own = [row for row, of in enumerate(log.get("process", ())) if of == process]
    return Calls(begins, log, sorted(own, key=lambda row: int(log["begin_ns"][row])))
