"""Types, unknown values and lists of the database, and that it is closed to the outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support import Row, evidence, step
from xladoctor.evidence.database import Database

SOURCE = [{"file": "a.py", "line": 1, "text": "x = 1"}]


@pytest.fixture
def closed() -> Database:
    """A database with one row, closed as for a diagnosis."""
    database = evidence({"source_line": SOURCE}).database
    database.close_to_the_outside()
    return database


def only(database: Database, query: str) -> Row:
    (row,) = database.rows(query)
    return row


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("process", "pid", 2**40),
        ("process", "ended", True),
        ("process", "cwd", "/home/ada/déjà vu/数据"),
        ("step", "end_ns", 1_795_248_358_170_449_682),
        ("metric", "accumulator", 1.5),
        ("transfer", "shape", [16, 64]),
        ("transfer", "shape", []),
        ("transfer", "shape", [3_000_000_000]),
        ("hlo_parameter", "shape", [-(2**63), 4]),  # a dimension without bound
    ],
)
def test_value_comes_back_as_it_went_in(table: str, column: str, value: Any) -> None:
    database = Database()
    database.insert(table, {"process": [0, 0], column: [value, None]})
    found = [row[column] for row in database.rows(f"SELECT * FROM {table} ORDER BY rowid")]
    assert found == [value, None]
    assert type(found[0]) is type(value)


def test_column_without_any_known_value() -> None:
    database = Database()
    database.insert("compilation", {"process": [0, 1], "duration_ns": [None, None]})
    query = "SELECT sum(duration_ns) AS total, count(*) AS rows FROM compilation"
    assert only(database, query) == {"total": None, "rows": 2}


def test_lists_of_equal_and_of_different_lengths() -> None:
    cases: list[list[list[int] | None]] = [[[1, 2], [3, 4]], [[1], [2, 3], None], [[]]]
    for shapes in cases:
        database = Database()
        database.insert("transfer", {"shape": shapes})
        assert [row["shape"] for row in database.rows("SELECT shape FROM transfer")] == shapes


def test_columns_that_are_not_given_are_unknown() -> None:
    database = Database()
    database.insert("counter", {"name": ["MarkStep"]})
    expected = {"process": None, "name": "MarkStep", "value": None}
    assert only(database, "SELECT * FROM counter") == expected


def test_nothing_to_insert_inserts_nothing() -> None:
    database = Database()
    database.insert("counter", {})
    database.insert("counter", {"name": [], "value": []})
    assert database.scalar("SELECT count(*) FROM counter") == 0


def test_rows_are_appended_in_order() -> None:
    database = Database()
    for value in (1, 2):
        database.insert("counter", {"name": ["a"], "value": [value]})
    assert [row["value"] for row in database.rows("SELECT value FROM counter")] == [1, 2]


def test_scalar_and_parameters() -> None:
    database = evidence({"source_line": SOURCE}).database
    query = "SELECT text FROM source_line WHERE line = $line"
    assert database.scalar(query, {"line": 1}) == "x = 1"
    assert database.scalar(query, {"line": 2}) is None
    assert database.rows(query, {"line": 2}) == []


def test_views_are_there_and_empty_without_evidence() -> None:
    database = evidence({}).database
    views = ("loop_row", "loop", "lead", "steady_step", "read_in_loop", "missing_barrier",
             "compiled_again", "fallback_op")  # fmt: skip
    assert {view: database.rows(f"SELECT * FROM {view}") for view in views} == {
        view: [] for view in views
    }


def test_steps_are_barriers_by_the_period_of_their_thread() -> None:
    database = evidence({
        "step": [*(step(i) for i in range(12)), *(step(i, thread=2) for i in range(5)),
                 step(12, tail=True)],
        "step_period": [{"process": 0, "thread": 1, "barriers": 4}],
    }).database  # fmt: skip
    query = "SELECT thread, barriers, steps FROM loop ORDER BY thread"
    assert [tuple(row.values()) for row in database.rows(query)] == [(1, 12, 3), (2, 5, 5)]
    assert database.scalar("SELECT thread FROM lead") == 1


# Closed


#: Queries that would reach out, by what they try.
OUTSIDE = {
    "read a file": "SELECT * FROM read_csv('{folder}/secret.csv')",
    "read a file by its name": "SELECT * FROM '{folder}/secret.csv'",
    "read a text": "SELECT * FROM read_text('{folder}/secret.csv')",
    "list files": "SELECT * FROM glob('{folder}/*')",
    "write a file": "COPY (SELECT 1) TO '{folder}/out.csv'",
    "read into a table": "COPY source_line FROM '{folder}/secret.csv'",
    "export": "EXPORT DATABASE '{folder}/all'",
    "attach": "ATTACH '{folder}/other.db'",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "read from the network": "SELECT * FROM read_csv('https://example.org/a.csv')",
    "open again": "SET enable_external_access = true",
    "reset": "RESET enable_external_access",
    "unlock": "SET lock_configuration = false",
    "allow a folder": "SET allowed_directories = ['{folder}']",
}


@pytest.mark.parametrize("attempt", OUTSIDE)
def test_closed_database_cannot_reach_out(closed: Database, attempt: str, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    query = OUTSIDE[attempt].format(folder=tmp_path)

    with pytest.raises(duckdb.Error):
        closed.rows(query)

    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_open_database_could_reach_out(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    query = OUTSIDE["read a file"].format(folder=tmp_path)
    assert evidence({}).database.rows(query) == [{"a": 1}]


def test_closed_database_still_answers(closed: Database) -> None:
    assert closed.scalar("SELECT text FROM source_line") == "x = 1"


def test_variables_of_the_process_cannot_be_read(
    closed: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLADOCTOR_TEST_SECRET", "s3cret")
    with pytest.raises(duckdb.Error):
        closed.rows("SELECT getenv('XLADOCTOR_TEST_SECRET')")


def test_variables_of_python_cannot_be_read(closed: Database) -> None:
    import numpy as np

    secrets = {"a": np.asarray([1])}  # noqa: F841 - DuckDB would find it by its name
    with pytest.raises(duckdb.Error):
        closed.rows("SELECT * FROM secrets")
