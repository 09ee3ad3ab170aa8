"""Explains why the graphs of a block were compiled, by the rules on recompilation."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from xladoctor.diagnosis.engine import judge
from xladoctor.diagnosis.finding import Finding
from xladoctor.evidence.database import Database
from xladoctor.evidence.row import Row
from xladoctor.expectation.builder import FindingBuilder
from xladoctor.expectation.interface import EventCounts
from xladoctor.report.compilations import phrase
from xladoctor.warmup import WARMUP

_EARLIER = "modules-0.xplane.pb"  # what was compiled before the session began
_COMPILED = """
    SELECT c.*, c.ordinal / coalesce(p.barriers, 1) AS turn
    FROM compiled_again c JOIN judged_part w ON c.end_ns BETWEEN w.begin_ns AND w.end_ns
    LEFT JOIN step_period p USING (process, thread) ORDER BY c.index
"""
_FIRST = "First graph of a call site"
_FIRST_WHY = """
    It is the first graph that this line launched, so it had to be compiled. There is no earlier one
    to compare it with.
"""
_FIRST_FIX = """
    Run the step a few times before the block, from the same line (put it in a function that both
    call): its graphs are compiled in the first launches.
"""
_FIRST_TEXTS = _FIRST, _FIRST_WHY, _FIRST_FIX
_LATE = "Graph of a call site whose earlier graphs are not known"
_LATE_WHY = """
    It is the first graph that this line compiled since counting began. Others were compiled
    earlier, but it cannot be compared with them.
"""
_LATE_FIX = """
    If the step is warmed up before the block, start counting before the warm-up, so that the cause
    can be named: request the fixture xladoctor_expect, or put the warm-up in a block too, with
    xladoctor.expect(compilations=100).
"""
_NOWHERE = "Graph compiled at an unknown line"
_NOWHERE_WHY = """
    It was compiled neither at a barrier nor at a read of a value: an operator that runs on the CPU
    cuts the graph, and what was recorded before it is launched there.
"""
_NOWHERE_FIX = """
    Expect fallbacks=0 in this block as well: that names such operators and their lines.
"""
_DEPENDENT = "The graph has an input whose size depends on the data ({})."
_AGAIN = "The graph differs from the previous one at this call site ({})."
_ALSO = (
    "This is launch {} of the line that compiled it: new graphs are expected in the first three"
    " (the optimizer creates its state in the second). Run the step three times before the block"
)


def explain_compilations(
    builder: FindingBuilder, happened: EventCounts
) -> tuple[list[Finding], list[str]]:
    """A finding for each cause, in the order of the compilations; and notes on what is unknown."""
    database = builder.evidence.database
    rows = {row["index"]: row for row in database.rows(_COMPILED)}
    late = (Path(builder.evidence.path) / _EARLIER).exists()
    explained = _by_rules(builder, rows, late)
    known = {index for indices, _ in explained for index in indices}
    explained += [
        ([index], _without_rule(builder, row, late))
        for index, row in rows.items()
        if index not in known
    ]
    explained.sort(key=lambda pair: pair[0][0])
    return [finding for _, finding in explained], _notes(database, rows.values(), happened)


def _by_rules(
    builder: FindingBuilder, rows: dict[int, Row], late: bool
) -> list[tuple[list[int], Finding]]:
    """The findings of all rules on recompilation, each with the compilations it is about."""
    explained = []
    for rule in builder.rules_on("compilations"):
        for row in judge(rule, builder.evidence):
            compiled = [rows[index] for index in row.get("compilations") or ()]
            if all(map(_is_nowhere, compiled)):
                continue
            turn = min(int(each["turn"]) for each in compiled)
            placed = all(each["file"] for each in compiled)
            early = placed and turn < WARMUP and not late
            row["consequences"] = [_ALSO.format(turn + 1)] if early else []
            explained.append((row["compilations"], builder.from_rule(rule, row)))
    return explained


def _without_rule(builder: FindingBuilder, row: Row, late: bool) -> Finding:
    """The finding on a compilation that no rule reports: a site's first, or after a fallback."""
    if _is_nowhere(row):
        return builder.without_rule(_NOWHERE, {**row, "count": 1}, _NOWHERE_WHY, _NOWHERE_FIX)
    if row["kind"] is None:
        title, why, fix = (_LATE, _LATE_WHY, _LATE_FIX) if late else _FIRST_TEXTS
        return builder.without_rule(title, {**row, "count": 1}, why, fix)
    rule = builder.rule_for(row["kind"])
    change = phrase({**row, "file": row["made_file"]})
    by_operator = rule.events == "fallbacks"  # its findings count fallbacks, not graphs
    return builder.without_rule(
        rule.title if by_operator else "Graph compiled again",
        {**_guilty(row), "count": 1},
        (_DEPENDENT if by_operator else _AGAIN).format(change),
        rule.fix,
        rule.id if by_operator else "",
    )


def _is_nowhere(row: Row) -> bool:
    """Whether the line is unknown, so that comparing it with other graphs means nothing."""
    return row["file"] is None and row["made_file"] is None


def _guilty(row: Row) -> Row:
    """The row with the line that makes the difference, if known, and the call site as related."""
    if row["made_file"] is None:
        return row
    names = ("file", "line", "function")
    made = {name: row[f"made_{name}"] for name in (*names, *(f"user_{name}" for name in names))}
    return {**made, **{f"related_{name}": row[name] for name in names}, "related_role": "compiled"}


def _notes(database: Database, rows: Collection[Row], happened: EventCounts) -> list[str]:
    notes = []
    missing = happened.compilations - len(rows)
    if missing > 0:
        notes.append(f"Nothing more is known about {missing} of the compilations.")
    unknown = any(row["kind"] == "unknown" for row in rows)
    if unknown and not database.has_rows("hlo_module"):
        notes.append(
            "The compiled graphs could not be fetched: the program has a profiler session"
            " of its own open."
        )
    return notes
