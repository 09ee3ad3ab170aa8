"""Describes the place of a finding without lines: a label of the program, or the compiled function
and the steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from xladoctor.diagnosis.rule import Rule
from xladoctor.evidence.interface import Evidence
from xladoctor.facts.graphs import UNNAMED
from xladoctor.quantities import first_few, percent

#: Queries for when it happened, by the rule's subject.
_MOMENTS = {
    "compilations": """
        SELECT end_ns - duration_ns AS at FROM compilation
        WHERE process = $process AND list_contains($compilations, index)""",
    "host_syncs": """
        SELECT min(begin_ns) AS at FROM host_segment
        WHERE process = $process AND region IN ('read', 'cut') GROUP BY call""",
}
_PLACED = """
    WITH moment AS ({moments}),
    labelled AS (  -- the label that began last is the innermost
        SELECT m.at, arg_max(r.path, r.region) AS path
        FROM moment m LEFT JOIN region r
            ON r.process = $process AND r.begin_ns <= m.at AND m.at < r.begin_ns + r.duration_ns
        GROUP BY m.at
    )
    SELECT path, count(*) / sum(count(*)) OVER () AS share
    FROM labelled GROUP BY path ORDER BY share DESC, path
"""
_SHOWN = 3  # steps that are listed


def place_of(
    rule: Rule, process: int, compilations: Sequence[int], evidence: Evidence
) -> str | None:
    """The label in which most of it happened, else what was compiled and when; None if unknown."""
    kind = str(rule.events)
    given: dict[str, object] = {"process": process}
    if compilations:
        kind, given["compilations"] = "compilations", list(compilations)
    elif kind != "host_syncs":
        return None
    rows = evidence.database.rows(_PLACED.format(moments=_MOMENTS[kind]), given)
    if rows and rows[0]["path"]:
        share = rows[0]["share"]
        part = f" ({percent(share)} of it)" if share < 1 else ""
        return f'within your label "{rows[0]["path"]}"{part}'
    return _compiled(process, compilations, evidence) if compilations else None


def _compiled(process: int, compilations: Sequence[int], evidence: Evidence) -> str | None:
    """The function, or the barriers or reads, that compiled, and the steps."""
    rows = evidence.database.rows(
        "SELECT cause, compiled_function(cause) AS function, count(*) AS times,"
        " list(DISTINCT step ORDER BY step) FILTER (step IS NOT NULL) AS steps"
        " FROM compilation WHERE process = $process AND list_contains($compilations, index)"
        " GROUP BY cause ORDER BY times DESC, cause",
        {"process": process, "compilations": list(compilations)},
    )
    if not rows:
        return None
    cause, function, _, steps = rows[0].values()
    name = (
        "a function that the log does not name" if function == UNNAMED else f"function {function}"
    )
    texts = [name] if function else []
    if steps:
        numbers = first_few(list(map(str, steps)), _SHOWN)
        at = {"barrier": "the barrier of ", "read": "a read in "}.get(cause, "")
        texts.append(f"{at}step{'s' * (len(steps) > 1)} {numbers}")
    return "; ".join(texts) or None
