"""What is said of a query without running it holds when it runs."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import duckdb
import pytest

from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.evidence import database as module
from xladoctor.evidence import query_shapes as shapes_module
from xladoctor.evidence.catalog import views
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.query_analysis import Analysis
from xladoctor.evidence.query_shapes import QueryShapes, query_shapes

SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("*/run.json"))
QUERIES: tuple[tuple[str, list[set[str]]], ...] = (
    ("FROM step", [{"step"}]),
    ("SELECT process FROM step JOIN loop USING (process)", [{"loop"}, {"step"}]),
    ("SELECT s.process FROM step s LEFT JOIN loop l USING (process)", [{"step"}]),
    ("SELECT s.process FROM step s RIGHT JOIN loop l USING (process)", [{"loop"}]),
    ("SELECT process FROM step FULL JOIN loop USING (process)", [{"loop", "step"}]),
    ("SELECT process FROM step SEMI JOIN loop USING (process)", [{"loop"}, {"step"}]),
    ("SELECT process FROM step ANTI JOIN loop USING (process)", [{"step"}]),
    ("SELECT * FROM step POSITIONAL JOIN loop", []),
    ("SELECT s.process FROM step s, loop l", [{"loop"}, {"step"}]),
    ("SELECT process FROM step UNION ALL SELECT process FROM loop", [{"loop", "step"}]),
    ("SELECT process FROM step EXCEPT SELECT process FROM loop", [{"step"}]),
    ("SELECT process FROM step INTERSECT SELECT process FROM loop", [{"loop"}, {"step"}]),
    ("SELECT count(*) FROM step", []),
    ("SELECT 1 FROM step HAVING count(*) = 0", []),
    ("SELECT process, count(*) FROM step GROUP BY process", [{"step"}]),
    ("SELECT process, count(*) FROM step GROUP BY ROLLUP (process)", []),
    ("SELECT process, count(*) FROM step GROUP BY ALL", [{"step"}]),
    ("SELECT count(*) FROM step GROUP BY ALL", []),
    ("SELECT 1, count(*) FROM step GROUP BY ALL", []),
    ("SELECT count(*) OVER () FROM step", [{"step"}]),
    ("SELECT process FROM step WHERE EXISTS (FROM loop)", [{"loop"}, {"step"}]),
    ("SELECT process FROM step WHERE NOT EXISTS (FROM loop)", [{"step"}]),
    ("SELECT process FROM step WHERE process IN (SELECT process FROM loop)", [{"loop"}, {"step"}]),
    ("SELECT process FROM step WHERE process NOT IN (SELECT process FROM loop)", [{"step"}]),
    ("SELECT process FROM step WHERE process > 9 OR EXISTS (FROM loop)", [{"step"}]),
    ("SELECT (SELECT max(process) FROM loop) FROM step", [{"step"}]),
    ("SELECT 1", []),
    ("SELECT * FROM (VALUES (1)) AS v(x)", []),
    ("WITH step AS (SELECT 1 AS x) FROM step", []),
    ("WITH a AS (FROM step), b AS (FROM a) FROM b JOIN loop USING (process)", [{"loop"}, {"step"}]),
    (
        "WITH RECURSIVE a AS (SELECT process FROM step UNION SELECT process FROM a) FROM a",
        [{"step"}],
    ),
    ("WITH RECURSIVE a AS (SELECT 1 AS x UNION SELECT x + 1 FROM a WHERE x < 3) FROM a", []),
)


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_conditions_of_a_query_are_those_of_duckdb(query: str, expected: list[set[str]]) -> None:
    analysis = Analysis(duckdb.connect())
    conditions = analysis.empty_without(query)
    assert [set(names) for names in conditions] == expected
    for filled in itertools.product((False, True), repeat=2):
        connection = duckdb.connect()
        for name, has_rows in zip(("step", "loop"), filled, strict=True):
            connection.execute(f"CREATE TABLE {name} AS SELECT 1 AS process, 1 AS index")
            if not has_rows:
                connection.execute(f"DELETE FROM {name}")
        empty = {name for name, rows in zip(("step", "loop"), filled, strict=True) if not rows}
        if any(set(names) <= empty for names in conditions):
            assert connection.execute(query).fetchall() == []


def test_macros_are_looked_into() -> None:
    analysis = Analysis(duckdb.connect())
    assert analysis.empty_without("FROM recompiled(['input_shape'], 3, 2)") == [
        frozenset({"recompiled_line"})
    ]
    assert analysis.empty_without("SELECT any_value(site(s)) FROM step s") == []
    assert analysis.empty_without("SELECT commonest_caller(s, 1) FROM step s") == []
    assert analysis.reads("FROM recompiled(['input_shape'], 3, 2)") == {"recompiled"}


def test_the_file_is_that_of_the_present_views_and_rules() -> None:
    shapes = query_shapes()
    assert set(shapes.views) == set(views()), "run `make docs`"
    keys = {shapes_module.key_of(rule.query) for rule in load_rules()}
    assert set(shapes.queries) == keys, "run `make docs`"


def rows_of(evidence: Evidence, names: set[str]) -> dict[str, Any]:
    database = evidence.database
    found: dict[str, Any] = {
        name: database.scalar(f"SELECT count(*) FROM {name}") for name in names
    }
    for rule in load_rules():
        rows = database.rows(rule.query, rule.parameters({}))
        found[rule.id] = sorted(map(repr, rows))
    return found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name)
def test_rows_are_those_without_shapes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = load_evidence(str(path.parent))
    having = {name for name in views() if evidence.database.has_rows(name)}
    with_shapes = rows_of(evidence, set(views()))
    for each in (module, shapes_module):
        monkeypatch.setattr(each, "query_shapes", QueryShapes)
    shapes_module.named_by.cache_clear()
    try:
        without = rows_of(load_evidence(str(path.parent)), set(views()))
    finally:
        shapes_module.named_by.cache_clear()
    assert with_shapes == without
    assert having == {name for name in views() if without[name]}
