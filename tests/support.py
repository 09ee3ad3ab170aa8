"""What several tests need: hand-made evidence, and tables as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xladoctor.causes import derive
from xladoctor.diagnosis.interface import Cost, Finding, Location, Saving
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import Rule
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.load import build
from xladoctor.ingest.interface import Columns, Ingested

PACK = {rule.id: rule for rule in load_rules()}
Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]


def rows(columns: Columns) -> list[Row]:
    """The rows of a table, as dictionaries."""
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def ingested(tables: Tables) -> Ingested:
    """Tables as a reader returns them; columns that a row lacks are unknown."""
    result = Ingested()
    for name, given in tables.items():
        result.table(name)
        names = list(dict.fromkeys(column for row in given for column in row))
        for row in given:
            result.add(name, **{column: row.get(column) for column in names})
    return result


def evidence(tables: Tables, **origin: Any) -> Evidence:
    """A database filled with ``tables``, as of a run directory."""
    return build(ingested(tables), {"kind": "run", "path": "a-run", **origin})


def complete(tables: Tables, **origin: Any) -> Evidence:
    """The same with the causes of its compilations, as rules see it."""
    return derive(evidence(tables, **origin))


def step(index: int, **columns: Any) -> Row:
    """A row of ``step``: one barrier of the main thread, at train.py:40, after 1 ms."""
    return {
        "process": 0, "thread": 1, "main": True, "tail": False, "index": index, "barriers": 1,
        "ordinal": index, "duration_ns": 1_000_000, "compile_ns": 0, "read_ns": 0, "input_ns": 0,
        "barrier_ns": 0, "upload_ns": 0, "executions": 1, "compilations": 0, "optimizer_steps": 1,
        "log_offset": 0, "traced": False, "probed": False, "file": "/home/ada/train.py", "line": 40,
        "function": "train", "via": "", **columns,
    }  # fmt: skip


def rule(**fields: Any) -> Rule:
    """A valid rule; ``fields`` replace what matters."""
    texts = dict.fromkeys(("query", "message", "why", "fix", "false_positives"), "…")
    return Rule.model_validate({
        "id": "XD901", "name": "odd-thing", "title": "Something odd", "category": "capture",
        "severity": "error", "confidence": "high", "judged_by": "counts",
        "status": "preview", "since": "0.1.0",
        "needs": ["counter"], "not_evaluated": {"counter": "no counters"},
        "example": {"before": "a", "after": "b"}, **texts, "query": "SELECT 1 AS count", **fields,
    })  # fmt: skip


def location(file: str = "train.py", line: int = 41, **fields: Any) -> Location:
    """A guilty line, unless ``fields`` say otherwise."""
    return Location(**{"file": file, "line": line, "function": "train", "role": "guilty", **fields})


def finding(rule_id: str = "XD201", **fields: Any) -> Finding:
    """A warning about train.py:41 that costs 1.2 s of 10 s."""
    return Finding(**{
        "rule": rule_id, "name": "scalar-read-in-loop", "severity": "warning",
        "severity_by_counts": "warning",
        "title": "Scalar read from the device in the step loop", "locations": [location()],
        "count": 40, "per_step": 1.0, "processes": ["0"], "cost": Cost(1.2, 0.12, "measured"),
        "saving": Saving(1.2, 30.0, 0.12, "bound"), "cause": {}, "consequences": [],
        "recurs": rule_id not in PACK or PACK[rule_id].recurs,
        "message": "The host waits.", "why": "It waits.", "fix": "Do not read.",
        "example": "loss.detach()", "fingerprint": f"{rule_id}-0", **fields,
    })  # fmt: skip
