"""What several tests need: hand-made evidence, and tables as rows."""

from __future__ import annotations

from typing import Any

from xladoctor.diagnosis.finding import Cost, Finding, Location, Saving
from xladoctor.diagnosis.pack import load_rules
from xladoctor.diagnosis.rule import Rule
from xladoctor.evidence.row import Row
from xladoctor.facts.records import CallSitesFile
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.ingest.interface import Columns
from xladoctor.ingest.run_records import read_record
from xladoctor.rule_cases.evidence import Tables, complete, evidence, ingested
from xladoctor.rule_cases.judge import defaults

__all__ = [
    "PACK",
    "Row",
    "Tables",
    "complete",
    "evidence",
    "finding",
    "ingested",
    "location",
    "rows",
    "rule",
    "step",
]

PACK = {rule.id: rule for rule in load_rules()}


def rows(columns: Columns) -> list[Row]:
    """The rows of a table, as dictionaries."""
    return [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def read_call_sites(text: str) -> CallSites:
    """The call sites in a text of ``call_sites.json``."""
    return CallSites.of(read_record(text, decoded(CallSitesFile)))


def step(index: int, **columns: Any) -> Row:
    """A row of ``step``: one barrier of the main thread, at train.py:40, after 1 ms."""
    place = {"index": index, "ordinal": index, "file": "/home/ada/train.py"}
    return {**defaults("step"), **place, **columns}


def rule(**fields: Any) -> Rule:
    """A valid rule; ``fields`` replace what matters."""
    texts = dict.fromkeys(("query", "message", "why", "fix", "false_positives"), "…")
    return Rule.model_validate(
        {
            "id": "XD901",
            "name": "odd-thing",
            "title": "Something odd",
            "category": "capture",
            "severity": "error",
            "confidence": "high",
            "judged_by": "counts",
            "status": "preview",
            "since": "0.1.0",
            "needs": ["counter"],
            "not_evaluated": {"counter": "no counters"},
            "example": {"before": "a", "after": "b"},
            **texts,
            "query": "SELECT 1 AS count",
            **fields,
        }
    )


def location(file: str = "train.py", line: int = 41, **fields: Any) -> Location:
    """A guilty line, unless ``fields`` say otherwise."""
    return Location(**{"file": file, "line": line, "function": "train", "role": "guilty", **fields})


def finding(rule_id: str = "XD201", **fields: Any) -> Finding:
    """A warning about train.py:41 that costs 1.2 s of 10 s."""
    return Finding(
        **{
            "rule": rule_id,
            "name": "scalar-read-in-loop",
            "severity": "warning",
            "severity_by_counts": "warning",
            "title": "Scalar read from the device in the step loop",
            "locations": [location()],
            "count": 40,
            "per_step": 1.0,
            "processes": ["0"],
            "cost": Cost(1.2, 0.12, "measured"),
            "saving": Saving(1.2, 30.0, 0.12, "bound"),
            "cause": {},
            "consequences": [],
            "recurs": rule_id not in PACK or PACK[rule_id].recurs,
            "message": "The host waits.",
            "why": "It waits.",
            "fix": "Do not read.",
            "example": "loss.detach()",
            "fingerprint": f"{rule_id}-0",
            **fields,
        }
    )
