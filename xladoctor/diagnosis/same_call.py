"""Merges rows from several lines of a library that are within one call of the program."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row

_CALL = ("process", "subject", "user_file", "user_line")


def by_call(rows: Iterable[Row], evidence: Evidence) -> list[Row]:
    """Merge a rule's rows at lines of a library that the same line of the program calls: the row
    with the highest count stands for all, with the costs and claims of all.
    """
    kept, calls = list[Row](), defaultdict[Any, list[Row]](list)
    for row in rows:
        if row.get("user_line") is None or row.get("claim") is None:
            kept.append(row)
        else:
            calls[tuple(row.get(name) for name in _CALL)].append(row)
    return kept + [_joined(called, evidence) for called in calls.values()]


def _joined(rows: list[Row], evidence: Evidence) -> Row:
    first, *others = sorted(
        rows, key=lambda row: (-row["count"], row.get("file") or "", row.get("line") or 0)
    )
    if not others:
        return first
    also = [*(first.get("consequences") or []), _also(others, evidence)]
    return joined(first, others) | {"consequences": also}


def joined(first: Row, others: list[Row]) -> Row:
    """A row that stands for others, too: with the counts, costs and claims of all."""
    rows = [first, *others]
    costs = [row["cost_ns"] for row in rows if row.get("cost_ns") is not None]
    return {
        **first,
        "count": sum(row["count"] for row in rows),
        "per_step": sum(row.get("per_step") or 0.0 for row in rows) or None,
        "cost_ns": sum(costs) if costs else None,
        "claim": [claim for row in rows for claim in _claims(row)],
        "stalls": any(row.get("stalls") for row in rows),
        "healthy": all(row.get("healthy") for row in rows),
    }


def _claims(row: Row) -> list[Any]:
    claim = row.get("claim")
    return claim if isinstance(claim, list) else [claim]


def _also(others: list[Row], evidence: Evidence) -> str:
    files = defaultdict[str, list[Row]](list)
    for row in others:
        files[evidence.shown(row["file"]) or ""].append(row)
    places = [
        f"{file}:{', '.join(str(row['line']) for row in rows)}" for file, rows in files.items()
    ]
    count = sum(row["count"] for row in others)
    return f"{count} of these times at {'; '.join(places)}"
