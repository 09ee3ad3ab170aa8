"""Why the graphs of a block were compiled: by the rules XD101 to XD110, with no allowance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from xladoctor.diagnosis.interface import Finding
from xladoctor.evidence.database import Database
from xladoctor.expectation.interface import Happened
from xladoctor.expectation.words import Row, Words
from xladoctor.report.compilations import phrase

_EARLIER = "modules-0.xplane.pb"  # what was compiled before the session began
_WARM_UP = 3  # launches of a call site
_COMPILED = """
    SELECT c.*, c.ordinal / coalesce(p.barriers, 1) AS turn
    FROM compiled_again c LEFT JOIN step_period p USING (process, thread)
    WHERE c.end_ns BETWEEN $began AND $ended ORDER BY c.index
"""
_LAUNCHES = """
    SELECT count(*) FROM step
    WHERE NOT tail AND end_ns BETWEEN $began AND $ended AND file IS NOT DISTINCT FROM $file
      AND line IS NOT DISTINCT FROM $line AND via IS NOT DISTINCT FROM $via
"""
_FIRST = "First graph of a call site"
_FIRST_WHY = """
    This line launched a graph that was not compiled yet, and none before: there is no earlier graph
    of it that this one could be compared with.
"""
_FIRST_FIX = """
    Run the step a few times before the block, at the same line (in a function that both call): what
    is new compiles in its first launches.
"""
_FIRST_TEXTS = _FIRST, _FIRST_WHY, _FIRST_FIX
_LATE = "Graph of a call site whose earlier graphs are not known"
_LATE_WHY = """
    It is the first graph that this line compiles since counting began; others were compiled before,
    with which it cannot be compared.
"""
_LATE_FIX = """
    If the step is warmed up, have counting begin before that, so that the cause can be named:
    request the fixture xladoctor_expect, or put the warm-up into a block as well, with
    xladoctor.expect(compilations=100).
"""
_NOWHERE = "Graph compiled at a line that is not known"
_NOWHERE_WHY = """
    It was compiled at no barrier and at no read of a value: an operator that runs on the CPU cuts
    the graph, and what lies before it is launched there.
"""
_NOWHERE_FIX = """
    Expect fallbacks=0 in this block as well, which names such operators and their lines.
"""
_DEPENDENT = "The graph has an input whose size depends on the data ({})."
_AGAIN = "The graph differs from the one before it at this call site ({})."
_ALSO = (
    "This is launch {} of the line that compiled it: in the first three, graphs of their own are"
    " due (the optimizer makes its state in the second). Run the step three times before the block"
)


def explain_compilations(
    words: Words, happened: Happened, place: Callable[[int | None], Any]
) -> tuple[list[Finding], list[str]]:
    """A finding for each cause, in the order of the compilations; and what is not known."""
    database = words.evidence.database
    window = {"began": happened.began_ns, "ended": happened.ended_ns}
    rows = database.rows(_COMPILED, window)
    late = (Path(words.evidence.origin["path"]) / _EARLIER).exists()
    _restrict(database, rows, window, happened, place)
    found = _by_rules(words, {row["index"]: row for row in rows}, late)
    known = {index for indices, _ in found for index in indices}
    found += [([row["index"]], _without_rule(words, row, late))
              for row in rows if row["index"] not in known]  # fmt: skip
    found.sort(key=lambda pair: pair[0][0])
    return [finding for _, finding in found], _notes(database, rows, happened)


def _restrict(
    database: Database, rows: list[Row], window: Row, happened: Happened,
    place: Callable[[int | None], Any],
) -> None:  # fmt: skip
    """Leave the rules nothing but the block's compilations that can be asked for their cause."""
    chosen = [row["index"] for row in rows if row["kind"]]
    database.rows("DELETE FROM late_compilation WHERE NOT list_contains($chosen, index)",
                  {"chosen": chosen})  # fmt: skip
    for row in rows:
        site = {name: row[name] for name in ("file", "line", "via")}
        here = [other for other in rows if all(other[name] == site[name] for name in site)]
        lines = row["file"], row["line"]
        reads = sum(n for (one, _), n in happened.waits.items()
                    if (known := place(one)) and known[:2] == lines)  # fmt: skip
        launches = database.scalar(_LAUNCHES, {**window, **site})
        database.rows("UPDATE late_compilation SET unsettled = TRUE, launches = $n"
                      " WHERE index = $index",
                      {"n": max(len(here), launches, reads), "index": row["index"]})  # fmt: skip


def _by_rules(words: Words, rows: dict[int, Row], late: bool) -> list[tuple[list[int], Finding]]:
    """The findings of all rules on recompilation, each with the compilations that it is of."""
    found = []
    for rule in words.rules.values():
        if "recompiled(" not in rule.query:
            continue
        for row in words.evidence.database.rows(rule.query, {**rule.thresholds, "warmup": 0}):
            indices = row["claim"]["compilations"]
            if all(_is_nowhere(rows[index]) for index in indices):
                continue
            turn = min(int(rows[index]["turn"]) for index in indices)
            placed = all(rows[index]["file"] for index in indices)
            early = placed and turn < _WARM_UP and not late
            row["consequences"] = [_ALSO.format(turn + 1)] if early else []
            found.append((indices, words.of_rule(rule, row)))
    return found


def _without_rule(words: Words, row: Row, late: bool) -> Finding:
    """The first of a call site, and what comes from an operator that XD102 is about."""
    if _is_nowhere(row):
        return words.own(_NOWHERE, {**row, "count": 1}, _NOWHERE_WHY, _NOWHERE_FIX)
    if row["kind"] is None:
        title, why, fix = (_LATE, _LATE_WHY, _LATE_FIX) if late else _FIRST_TEXTS
        return words.own(title, {**row, "count": 1}, why, fix)
    dependent = row["kind"] == "data_dependent_shape"
    rule = words.rules["XD102" if dependent else "XD110"]
    change = phrase({**row, "file": row["made_file"]})
    return words.own(
        rule.title if dependent else "Graph compiled again", {**_guilty(row), "count": 1},
        (_DEPENDENT if dependent else _AGAIN).format(change), rule.fix,
        rule.id if dependent else "",
    )  # fmt: skip


def _is_nowhere(row: Row) -> bool:
    """Compiled at a line that is not known, so that any may be compared with it."""
    return row["file"] is None and row["made_file"] is None


def _guilty(row: Row) -> Row:
    """The line that makes the difference first, where it is known; then the call site."""
    if row["made_file"] is None:
        return row
    names = ("file", "line", "function")
    made = {name: row[f"made_{name}"] for name in (*names, *(f"user_{name}" for name in names))}
    return {**made, **{f"related_{name}": row[name] for name in names},
            "related_role": "compiled"}  # fmt: skip


def _notes(database: Database, rows: list[Row], happened: Happened) -> list[str]:
    notes = []
    missing = happened.compilations - len(rows)
    if missing > 0:
        notes.append(f"Of {missing} of the compilations nothing but their number is known.")
    unknown = any(row["kind"] == "unknown" for row in rows)
    if unknown and not database.scalar("SELECT EXISTS (SELECT 1 FROM hlo_module)"):
        notes.append("The compiled graphs could not be fetched, which a profile of the program's"
                     " own prevents while it is open.")  # fmt: skip
    return notes
