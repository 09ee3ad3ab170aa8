"""All compilations in order, each with its cause, and their sums by call site."""

from __future__ import annotations

from collections import Counter
from typing import Any

from xladoctor.evidence.interface import Evidence

Row = dict[str, Any]
_QUERY = """
    SELECT c.process, c.index, c.step, c.ordinal, c.launches,
           c.ordinal < 3 * coalesce(p.barriers, 1) AS warmup,  -- turns, where a step has several
           c.duration_ns / 1e9 AS seconds, c.graph_hash,
           c.graph_hash IN (SELECT graph_hash FROM hlo_module m WHERE m.process = c.process)
               AS in_timeline,
           c.inputs, c.outputs, c.file, c.line, c.function, c.user_file, c.user_line,
           c.user_function, c.via, c.cause AS trigger,
           CASE WHEN r.process IS NOT NULL THEN
               struct_pack(against := r.against, kind := r.kind, basis := r.basis,
                   parameter := r.parameter, was := r.was, now := r.now,
                   dimension := r.dimension, value := r.value, op := r.op, role := r.role,
                   pattern := r.pattern, seen := r.seen, possible := r.possible, file := r.file,
                   line := r.line, function := r.function, user_file := r.user_file,
                   user_line := r.user_line, user_function := r.user_function) END AS cause
    FROM compilation c
    LEFT JOIN recompilation r ON r.process = c.process AND r.index = c.index
    LEFT JOIN step_period p ON p.process = c.process AND p.thread = c.thread
    ORDER BY c.process, c.index
"""
_SITE = ("process", "file", "line", "function", "user_file", "user_line", "user_function", "via",
         "trigger")  # fmt: skip


def listed(evidence: Evidence) -> list[Row]:
    """A row for each compilation, ready for JSON; ``cause`` is None for the first of a site."""
    rows = evidence.database.rows(_QUERY)
    for row in rows:
        for one in filter(None, (row, row["cause"])):
            one |= {key: evidence.shown(one[key]) for key in ("file", "user_file")}
    return rows


def call_sites(rows: list[Row]) -> list[Row]:
    """A row for each call site, in the order of their first compilation; sums in seconds."""
    sites: dict[Any, list[Row]] = {}
    for row in rows:
        sites.setdefault(tuple(row[name] for name in _SITE), []).append(row)
    return [_site(key, group) for key, group in sites.items()]


def _site(key: tuple[Any, ...], rows: list[Row]) -> Row:
    kinds = Counter((row["cause"] or {"kind": "first"})["kind"] for row in rows)
    late = [row for row in rows if row["warmup"] is False]
    return {
        **dict(zip(_SITE, key, strict=True)), "compilations": len(rows),
        "graphs": len({row["graph_hash"] or row["index"] for row in rows}),
        "seconds": _total(rows), "seconds_after_warmup": _total(late) if late else 0.0,
        "kinds": dict(kinds.most_common()),
    }  # fmt: skip


def _total(rows: list[Row]) -> float | None:
    """Seconds of those whose time is known, None where there are none."""
    known = [row["seconds"] for row in rows if row["seconds"] is not None]
    return round(sum(known), 9) if known else None
