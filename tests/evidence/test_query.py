"""A user's query: what is one, what it gives, what it says where it fails."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

import duckdb
import pytest

from tests.support import evidence
from xladoctor.evidence.catalog import macros, views
from xladoctor.evidence.database import Database
from xladoctor.evidence.query import Query, QueryError
from xladoctor.evidence.schema import TABLES

ROWS: list[dict[str, Any]] = [
    {"process": 0, "direction": "to_device", "shape": [16, 2**40], "dtype": "f32", "line": 3},
    {"process": 0, "direction": "to_device", "shape": [], "dtype": 'b"f,\n16', "line": None},
    {"process": 1, "direction": None, "shape": None, "dtype": "é", "line": 5},
]
METRICS: list[dict[str, Any]] = [
    {"name": "a", "p50": 1.5},
    {"name": "b", "p50": float("inf")},
    {"name": "c"},
]
QUERY = "SELECT process, shape, dtype, line FROM transfer"


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written") / "rows"


@pytest.fixture(scope="module")
def database(writable: Path) -> Database:
    made = evidence({"transfer": ROWS, "metric": METRICS}).database
    made.close_to_the_outside(writable)
    return made


@pytest.fixture
def target(writable: Path) -> Path:
    """The file that the database may write; it is not there."""
    writable.unlink(missing_ok=True)
    return writable


def refusal(text: str, database: Database) -> list[str]:
    with pytest.raises(QueryError) as caught:
        Query(text, database).answer()
    return [caught.value.what, *caught.value.hint.splitlines()]


# Answers


def test_all_rows(database: Database) -> None:
    answer = Query(QUERY, database).answer()
    assert answer.columns == ["process", "shape", "dtype", "line"]
    assert answer.rows == [tuple(row[name] for name in answer.columns) for row in ROWS]
    assert answer.count == 3


@pytest.mark.parametrize(("limit", "shown"), [(1, 1), (2, 2), (3, 3), (4, 3), (0, 3)])
def test_first_rows_and_the_number_of_all(database: Database, limit: int, shown: int) -> None:
    answer = Query(f"{QUERY} ORDER BY line DESC NULLS LAST", database).answer(limit)
    assert [row[3] for row in answer.rows] == [5, 3, None][:shown]
    assert answer.count == 3


@pytest.mark.parametrize(
    "text",
    [
        "FROM transfer",
        "  SELECT 1 ; ",
        "SELECT 1 -- one",
        "-- one\nSELECT 1",
        "VALUES (1), (2)",
        "WITH a AS (SELECT 1) FROM a",
        "DESCRIBE transfer",
        "SUMMARIZE transfer",
        "SHOW TABLES",
        "EXPLAIN SELECT * FROM transfer",
        "SELECT ';' AS a",
        "SELECT 1 AS a, 2 AS a",
        "TABLE metric",
        "PIVOT transfer ON process USING count(*)",
    ],
)
def test_what_reads_is_a_query(database: Database, text: str) -> None:
    assert Query(text, database).answer(5).rows


def test_tables_without_a_source_are_named(database: Database) -> None:
    available = {"transfer", "metric"}
    text = (
        "SELECT line, (SELECT count(*) FROM steady_step) FROM Transfer JOIN counter USING (process)"
    )
    assert Query(text, database).absent(available) == ["counter", "step", "step_period"]
    assert Query("SELECT 'step' AS line FROM transfer", database).absent(available) == []


# Files


def test_csv(database: Database, target: Path) -> None:
    Query(QUERY, database).write(target, "csv")
    assert target.read_text(encoding="utf-8") == (
        'process,shape,dtype,line\n0,"[16, 1099511627776]",f32,3\n0,[],"b""f,\n16",\n1,,é,5\n'
    )


def test_json(database: Database, target: Path) -> None:
    Query(QUERY, database).write(target, "json")
    expected = [{name: row[name] for name in ("process", "shape", "dtype", "line")} for row in ROWS]
    assert json.loads(target.read_text(encoding="utf-8")) == expected


def test_infinite_numbers_are_null_in_json(database: Database, target: Path) -> None:
    text = 'SELECT name, p50 AS "a ""b", \'nan\'::FLOAT AS n FROM metric'
    Query(text, database).write(target, "json")

    def refuse(word: str) -> None:
        pytest.fail(word)

    rows = json.loads(target.read_text(encoding="utf-8"), parse_constant=refuse)
    assert [row['a "b'] for row in rows] == [1.5, None, None]
    assert {row["n"] for row in rows} == {None}


def test_parquet_keeps_types(database: Database, target: Path) -> None:
    Query(QUERY, database).write(target, "parquet")
    with duckdb.connect() as fresh:
        described = fresh.execute(f"DESCRIBE FROM read_parquet('{target}')").fetchall()
        rows = fresh.execute(f"FROM read_parquet('{target}')").fetchall()
    assert [row[:2] for row in described] == [
        ("process", "INTEGER"),
        ("shape", "BIGINT[]"),
        ("dtype", "VARCHAR"),
        ("line", "INTEGER"),
    ]
    assert rows == Query(QUERY, database).answer().rows


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_no_rows_make_a_file_too(database: Database, target: Path, kind: str) -> None:
    Query(f"{QUERY} WHERE false", database).write(target, kind)
    with duckdb.connect() as fresh:
        assert fresh.execute(f"SELECT count(*) FROM read_{kind}('{target}')").fetchall() == [(0,)]
    if kind == "json":
        assert json.loads(target.read_text()) == []


def test_explain_makes_no_file(database: Database, target: Path) -> None:
    with pytest.raises(QueryError, match="EXPLAIN"):
        Query(f"EXPLAIN {QUERY}", database).write(target, "csv")
    assert not target.exists()


# Refusals


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", "nothing"),
        ("-- a", "nothing"),
        ("SELECT 1; SELECT 2", "SELECT, SELECT"),
        ("COPY transfer TO 'a'", "COPY"),
        ("ATTACH 'a'", "ATTACH"),
        ("DROP TABLE step", "DROP"),
        ("INSTALL httpfs", "LOAD"),
        ("SET threads = 1", "SET"),
        ("PRAGMA version", "PRAGMA"),
        ("INSERT INTO step (line) VALUES (1)", "INSERT"),
    ],
)
def test_only_one_reading_statement_is_a_query(database: Database, text: str, kinds: str) -> None:
    what, hint = refusal(text, database)
    assert what == f"the query must be one SELECT; found: {kinds}"
    assert "xladoctor query --schema" in hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1) TO 'a'; --",
        "SELECT * FROM read_csv('a')",
        "SELECT getenv('HOME')",
        "EXPLAIN ANALYZE COPY transfer TO 'a'",
    ],
)
def test_query_cannot_reach_out(database: Database, text: str, tmp_path: Path) -> None:
    assert refusal(text.replace("'a'", f"'{tmp_path}/a'"), database)[0].startswith("the query")
    assert list(tmp_path.iterdir()) == []


def test_mistake_is_shown_where_it_is(database: Database) -> None:
    what, candidates, line, caret, hint = refusal("SELECT process,\n  lne\nFROM transfer", database)
    assert what == (
        'the query failed: Binder Error: Referenced column "lne" not found in FROM clause!'
    )
    assert candidates.startswith('Candidate bindings: "line"')
    assert line == "line 2:   lne"
    assert caret.index("^") == line.index("lne")
    assert hint == "`xladoctor query --schema` lists the tables and their columns"


def test_mistake_far_down_is_shown_where_it_is(database: Database) -> None:
    for lines in (8, 9, 98):
        *_, line, caret, _ = refusal("SELECT\n" + "\n" * lines + "lne FROM transfer", database)
        assert line == f"line {lines + 2}: lne FROM transfer"
        assert caret.index("^") == line.index("lne")


def test_mistake_of_grammar_is_shown_where_it_is(database: Database) -> None:
    what, line, caret, _ = refusal("SELECT line FORM transfer", database)
    assert what.startswith("the query failed: Parser Error: ")
    assert line == "line 1: SELECT line FORM transfer"
    assert caret.index("^") == line.index("transfer")


@pytest.mark.parametrize(
    ("name", "alike"),
    [
        ("steps", "step"),
        ("Transfers", "transfer"),
        ("steadystep", "steady_step"),
        ("compiled", "compiled_again"),
        ("events", "event"),
    ],
)
def test_table_that_does_not_exist_comes_with_those_named_alike(
    database: Database, name: str, alike: str
) -> None:
    what, line, _, named, _ = refusal(f"SELECT * FROM {name}", database)
    assert what == f"the query failed: Catalog Error: Table with name {name} does not exist!"
    assert line == f"line 1: SELECT * FROM {name}"
    assert alike in named.removeprefix("there is: ").split(", ")


def test_failure_while_it_runs_is_a_refusal(database: Database) -> None:
    what, hint = refusal("SELECT error('boom') FROM transfer", database)
    assert what == "the query failed: Invalid Input Error: boom"
    assert hint


# Views


def test_views_are_those_of_the_database(database: Database) -> None:
    database.create_views("derived")
    database.create([*TABLES, *views(), *macros()])
    relations = database.rows(
        "SELECT view_name AS name FROM duckdb_views() WHERE NOT internal"
        " UNION ALL SELECT table_name FROM duckdb_tables() WHERE NOT internal"
    )
    assert set(views()) == {row["name"] for row in relations} - set(TABLES)
    assert views()["steady_step"].text.startswith("Steps in the steady state")


# Limits

ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE hash(range) % 7 = 3"


def test_query_that_takes_too_long_is_ended(database: Database) -> None:
    with pytest.raises(QueryError, match="took too long") as caught:
        Query(ENDLESS, database, seconds=0.2).answer()
    assert "--timeout" in caught.value.hint
    assert Query("SELECT 1", database, seconds=60).answer().rows == [(1,)]


def test_interrupt_ends_a_query(database: Database) -> None:
    timer = Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        Query(ENDLESS, database).answer()
    timer.join()
    assert Query("SELECT 1", database).answer().rows == [(1,)]  # nothing runs any more


def test_query_that_needs_too_much_memory_is_refused_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    database = evidence({}).database
    before = size_of(str(database.scalar("SELECT current_setting('memory_limit')")))
    database._connection.execute("SET memory_limit = '100 MiB'")
    database.close_to_the_outside()
    after = size_of(str(database.scalar("SELECT current_setting('memory_limit')")))
    assert after < size_of("63 MiB") < before
    with pytest.raises(QueryError, match="needs too much memory"):
        Query("SELECT list(range) FROM range(100000000)", database).answer()
    assert list(tmp_path.iterdir()) == []


def size_of(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"MiB": 1, "GiB": 1 << 10, "TiB": 1 << 20}[unit]


@pytest.mark.parametrize("depth", [300, 900, 3000])
@pytest.mark.parametrize(("left", "right"), [("(", ")"), ("(SELECT ", ")"), ("- ", "")])
def test_deeply_nested_query_is_answered_or_refused(
    database: Database, depth: int, left: str, right: str
) -> None:
    text = f"SELECT {left * depth}1{right * depth}"
    with suppress(QueryError):  # DuckDB nests a thousand
        query = Query(text, database, seconds=60)
        assert query.absent(()) == []
        assert len(query.answer().rows) == 1
