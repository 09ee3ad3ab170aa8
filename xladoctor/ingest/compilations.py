"""Joins the two records of compilations: what the analysis log says of them, and when they were.

The log names graph, cause and frames, but no time; the step log has times, but no graph. Both are
in order of occurrence, so that they are joined by position where they agree in number.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Any

from xladoctor.ingest.analysis_log import AnalysisLog, Block
from xladoctor.ingest.frames import CallSite, Folders
from xladoctor.ingest.interface import Columns, Ingested


def join(
    log: AnalysisLog | None, times: Columns, process: int, folders: Folders, ingested: Ingested
) -> None:
    """Fill ``compilation`` and ``execution`` of one process."""
    timed = [dict(zip(times, row, strict=True)) for row in zip(*times.values(), strict=True)]
    if log is None:
        for index, row in enumerate(timed):
            _add(process, index, None, row, CallSite(*_site(row)), 0, ingested)
        return
    launches: Counter[CallSite] = Counter()
    compiled = [block for block in log.blocks if block.kind == "compilation"]
    if timed and len(compiled) != len(timed):
        ingested.notes.append(
            f"process {process}: {len(timed)} compilations were timed, {len(compiled)} logged;"
            " joined in order as far as both reach"
        )
    rows = iter(zip_longest(range(len(compiled)), timed))
    executions = 0
    for block in log.blocks:
        site = folders.locate(block.frames)
        if block.kind == "compilation":
            index, row = next(rows)
            _add(process, index, block, row or {}, site, launches[site], ingested)
        else:
            _add_execution(process, executions, block, site, ingested)
            executions += 1
            launches[site] += 1
    for index, (_, row) in enumerate(rows, len(compiled)):
        _add(process, index, None, row, CallSite(*_site(row)), 0, ingested)


def _site(row: dict[str, Any]) -> list[Any]:
    return [row[name] for name in CallSite.__dataclass_fields__]


def _add(
    process: int, index: int, block: Block | None, row: dict[str, Any], site: CallSite,
    ordinal: int, ingested: Ingested,
) -> None:  # fmt: skip
    ingested.add(
        "compilation", process=process, thread=row.get("thread"), index=index,
        step=row.get("step"), ordinal=ordinal, graph_hash=block.graph_hash if block else None,
        cause=block.true_cause() if block else row.get("during"), inputs=block.inputs if block else None,
        outputs=block.outputs if block else None, end_ns=row.get("end_ns"),
        duration_ns=row.get("duration_ns"), **site.columns(),
    )  # fmt: skip


def _add_execution(
    process: int, index: int, block: Block, site: CallSite, ingested: Ingested
) -> None:
    ingested.add(
        "execution", process=process, index=index, graph_hash=block.graph_hash,
        cause=block.true_cause(),
        inputs=block.inputs, outputs=block.outputs, **site.columns(),
    )  # fmt: skip

