"""Types, unknown values and lists of the database, and tables made when a query names them."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import Row, evidence, step
from xladoctor.evidence.database import Database
from xladoctor.evidence.interface import Elsewhere
from xladoctor.evidence.load import build
from xladoctor.evidence.schema import TABLES
from xladoctor.ingest.gathered import Repeated
from xladoctor.ingest.interface import Columns, Ingested, IngestError, Interned
from xladoctor.ingest.run_records import Manifest

SOURCE = [{"file": "a.py", "line": 1, "text": "x = 1"}]


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
    values = [row[column] for row in database.rows(f"SELECT * FROM {table} ORDER BY rowid")]
    assert values == [value, None]
    assert type(values[0]) is type(value)


def test_nothing_is_written_into_the_working_folder() -> None:
    assert Database().scalar("SELECT current_setting('temp_directory')") == ""


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
    expected = {"process": None, "position": 0, "name": "MarkStep", "value": None}
    assert only(database, "SELECT * FROM counter") == expected


def test_rows_of_an_ordered_table_are_numbered_as_they_are_inserted() -> None:
    database = Database()
    for names in (["b", "a"], ["c"]):
        database.insert("counter", {"name": names})
    rows = database.rows("SELECT name, position FROM counter ORDER BY position")
    assert [tuple(row.values()) for row in rows] == [("b", 0), ("a", 1), ("c", 2)]


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
    views = (
        "loop_row",
        "loop",
        "lead",
        "steady_step",
        "read_in_loop",
        "missing_barrier",
        "compiled_again",
        "fallback_op",
    )
    assert {view: database.rows(f"SELECT * FROM {view}") for view in views} == {
        view: [] for view in views
    }


def test_view_is_created_with_those_below_it_when_it_is_named() -> None:
    database = evidence({}).database

    def created() -> set[str]:
        return {row["name"] for row in database.rows("SHOW ALL TABLES")} - set(TABLES)

    assert created() == set()
    database.rows("FROM Lead")
    assert created() == {"lead"}  # it is known to be empty from the tables
    database = evidence({"step": [step(1)]}).database
    database.rows("FROM Lead")
    assert created() == {"lead", "loop", "loop_row"}


def test_last_steps_of_a_long_run_are_in_the_tail() -> None:
    """Ten steps share a line there."""
    rows = [step(9, barriers=10), step(19, barriers=10), step(24, tail=True, barriers=4)]
    database = evidence({"step": rows}).database
    assert database.rows("SELECT barriers, steps FROM loop") == [{"barriers": 24, "steps": 24}]


def test_steps_are_barriers_by_the_period_of_their_thread() -> None:
    database = evidence(
        {
            "step": [
                *(step(i) for i in range(12)),
                *(step(i, thread=2) for i in range(5)),
                step(12, tail=True),
            ],
            "step_period": [{"process": 0, "thread": 1, "barriers": 4}],
        }
    ).database
    query = "SELECT thread, barriers, steps FROM loop ORDER BY thread"
    assert [tuple(row.values()) for row in database.rows(query)] == [(1, 12, 3), (2, 5, 5)]
    assert database.scalar("SELECT thread FROM lead") == 1


# Columns in other forms than lists


CODES = np.asarray([0, -1, 1, 0], dtype=np.int32)
FORMS: dict[str, tuple[str, str, Any, list[Any]]] = {
    "int32": ("step", "line", np.arange(4, dtype=np.int32), [0, 1, 2, 3]),
    "int64": ("step", "begin_ns", np.arange(4) + 2**60, [2**60 + i for i in range(4)]),
    "uint8": ("step", "begin_ns", np.arange(4, dtype=np.uint8), [0, 1, 2, 3]),
    "boolean": ("step", "main", np.asarray([True, False, True, True]), [True, False, True, True]),
    "double": ("metric", "p50", np.asarray([0.5, math.nan, -1.0, 2.0]), [0.5, None, -1.0, 2.0]),
    "part of an array": ("step", "begin_ns", np.arange(8)[::2], [0, 2, 4, 6]),
    "field of records": ("step", "line", np.ones(4, dtype="i8,i4")["f1"], [1, 1, 1, 1]),
    "field of packed records": ("step", "end_ns", np.ones(4, dtype="i1,i8")["f1"], [1, 1, 1, 1]),
    "backwards": ("step", "line", np.arange(4)[::-1], [3, 2, 1, 0]),
    "constant": ("step", "process", np.broadcast_to(np.int32(3), 4), [3, 3, 3, 3]),
    "masked": ("step", "line", np.ma.MaskedArray([1, 2, 3, 4], CODES % 2 == 1), [1, None, None, 4]),
    "masked without mask": ("step", "line", np.ma.MaskedArray([1, 2, 3, 4]), [1, 2, 3, 4]),
    "masked boolean": (
        "step",
        "main",
        np.ma.MaskedArray([True] * 4, CODES < 0),
        [True, None, True, True],
    ),
    "interned": ("step", "file", Interned(CODES, ["a.py", "é"]), ["a.py", None, "é", "a.py"]),
    "interned, one text": (
        "step",
        "file",
        Interned(np.minimum(CODES, 0), ["a.py"]),
        ["a.py", None, "a.py", "a.py"],
    ),
    "interned, all unknown": ("step", "file", Interned(np.full(4, -1, np.int32), []), [None] * 4),
    "objects": (
        "step",
        "file",
        np.asarray(["a", None, "b", ""], dtype=object),
        ["a", None, "b", ""],
    ),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["inserted", "lazy"])
@pytest.mark.parametrize("form", FORMS)
def test_column_in_any_form_comes_back(form: str, lazy: bool) -> None:
    table, column, values, expected = FORMS[form]
    database = Database()
    if lazy:
        database.lazy(table, [lambda: {column: values}])
    else:
        database.insert(table, {column: values})
    query = f'SELECT "{column}" AS value, typeof("{column}") AS type FROM "{table}"'
    rows = database.rows(query)
    assert [row["value"] for row in rows] == expected
    assert {row["type"] for row in rows} == {TABLES[table].columns[column].type}


def test_texts_too_many_for_a_list_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xladoctor.evidence.columns._MOST_LISTED", 0)
    texts = [f"{number}.py" for number in range(1000)]
    codes = np.arange(-1, 999, dtype=np.int32)
    columns: Columns = {
        "line": np.arange(1000),
        "file": Interned(codes, texts),
        "via": Interned(codes[::-1], texts),
    }
    database = Database()
    database.lazy("step", [lambda: columns, lambda: columns])
    plan = database.rows("EXPLAIN SELECT file FROM step")
    assert "Join" in plan[0]["explain_value"] or "JOIN" in plan[0]["explain_value"]
    rows = database.rows("SELECT line, file, via FROM step ORDER BY line")
    assert [tuple(row.values()) for row in rows[::2]] == [
        (i, texts[i - 1] if i else None, texts[998 - i] if i < 999 else None) for i in range(1000)
    ]
    assert database.scalar("SELECT count(*) FROM step WHERE file = '7.py'") == 2
    assert database.scalar("SELECT count(*) FROM step WHERE via IS NULL") == 2


def test_forms_of_columns_can_be_mixed_and_leave_nothing_behind() -> None:
    database = Database()
    for _ in range(2):
        database.insert(
            "step",
            {
                "process": [0, None, 2, 3],
                "line": np.ma.MaskedArray([1, 2, 3, 4], CODES == 1),
                "file": Interned(CODES, ["a.py", "b.py"]),
                "via": [None, "sync", None, "x"],
            },
        )
    query = "SELECT process, line, file, via FROM step"
    assert [tuple(row.values()) for row in database.rows(query)] == [
        (0, 1, "a.py", None),
        (None, 2, None, "sync"),
        (2, None, "b.py", None),
        (3, 4, "a.py", "x"),
    ] * 2
    assert {row["name"] for row in database.rows("SHOW ALL TABLES")} <= set(TABLES)


@pytest.mark.parametrize(
    "other", [[1, 2], np.arange(4), Interned(np.zeros(1, dtype=np.int32), ["a"])], ids=repr
)
def test_columns_of_different_lengths_are_refused(other: Any) -> None:
    with pytest.raises(ValueError, match="different lengths"):
        Database().insert("counter", {"process": [1, 2, 3], "value": other})


@settings(max_examples=30, deadline=None)
@given(
    st.data(), st.sampled_from(["INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "BIGINT[]"])
)
def test_any_list_comes_back(data: st.DataObject, kind: str) -> None:
    table, column = {
        "INTEGER": ("step", "line"),
        "BIGINT": ("step", "begin_ns"),
        "DOUBLE": ("metric", "p50"),
        "BOOLEAN": ("step", "main"),
        "VARCHAR": ("step", "file"),
        "BIGINT[]": ("transfer", "shape"),
    }[kind]
    value: st.SearchStrategy[Any] = {
        "INTEGER": st.integers(1 - 2**31, 2**31 - 1),
        "BIGINT": st.integers(-(2**62), 2**62),
        "BIGINT[]": st.lists(st.integers(-(2**63), 2**63 - 1)),
        "DOUBLE": st.floats(-(2.0**62), 2.0**62),
        "BOOLEAN": st.booleans(),
        "VARCHAR": st.text(st.characters(exclude_categories=["Cs"])),
    }[kind]
    values = data.draw(st.lists(st.none() | value, max_size=20))
    database = Database()
    database.insert(table, {column: values})
    assert [row[column] for row in database.rows(f"SELECT {column} FROM {table}")] == values


TOO_LARGE = [2**63, 2**64, -(2**64), 10**400, math.inf, -math.inf]
WITH_ONE: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: [value, 1, None],
    "short": lambda value: Repeated([value, 1, None]),
    "long": lambda value: Repeated([value, 1, None] + [1] * 10_000),
    "known": lambda value: [value, 1, 1],
}
_NUMBERS = ("INTEGER", "BIGINT", "DOUBLE")
NUMERIC = {
    name: [c for c, kind in table.columns.items() if kind.type in _NUMBERS and c != "position"]
    for name, table in TABLES.items()
}


@pytest.mark.parametrize("form", WITH_ONE)
@pytest.mark.parametrize("value", TOO_LARGE, ids=lambda value: f"{Decimal(value):.3}")
def test_number_beyond_a_column_is_unknown_and_counted(form: str, value: Any) -> None:
    database = Database()
    tables = [table for table, columns in NUMERIC.items() if columns]
    for table in tables if form == "list" else ["step"]:
        columns = NUMERIC[table]
        database.insert(table, {column: WITH_ONE[form](value) for column in columns})
        names = ", ".join(f'"{column}"' for column in columns)
        _, rows = database.table(f'SELECT {names} FROM "{table}" LIMIT 2')
        assert rows == [(None,) * len(columns), (1,) * len(columns)]
        assert {database.beyond[table, column] for column in columns} == {1}


@pytest.mark.parametrize("bad", [math.inf, 1e300, math.nan])
def test_number_of_an_array_beyond_a_column_is_unknown(bad: float) -> None:
    database = Database()
    values = np.ma.MaskedArray([bad, 1.5, bad], [False, False, True])
    database.insert("metric", {"p50": np.array([bad, 1.5, 2.5])})
    database.insert("metric", {"p50": values})
    found = [row["p50"] for row in database.rows("SELECT p50 FROM metric")]
    assert found == [None, 1.5, 2.5, None, 1.5, None]
    assert database.beyond.total() == (0 if math.isnan(bad) else 2)


def test_list_with_a_number_beyond_64_bits_is_unknown() -> None:
    database = Database()
    database.insert("transfer", {"shape": [[1, 2**63], [1]]})
    assert [row["shape"] for row in database.rows("SELECT shape FROM transfer")] == [None, [1]]
    assert database.beyond == {("transfer", "shape"): 1}


def test_rare_values_and_changing_lists_of_long_columns() -> None:
    count = 50_000
    texts = [None] * count + ["late"]
    shapes = [[], [1], None, [2**40, 2]] * count
    database = Database()
    database.insert("step", {"via": texts})
    database.insert("transfer", {"shape": shapes})
    assert [row["via"] for row in database.rows("SELECT via FROM step")] == texts
    assert [row["shape"] for row in database.rows("SELECT shape FROM transfer")] == shapes


def test_path_that_is_not_utf8_is_kept_readable() -> None:
    database = Database()
    database.insert("counter", {"name": ["caf\udce9.py", None, "b"]})
    assert [row["name"] for row in database.rows("SELECT name FROM counter")] == [
        "caf\\xe9.py",
        None,
        "b",
    ]


# Lazy tables


class Source:
    """Produces the rows of a process, and counts how often it is asked."""

    def __init__(self, process: int, names: list[str]) -> None:
        self.process, self.names, self.asked = process, names, 0

    def __call__(self) -> Columns:
        self.asked += 1
        count = len(self.names)
        return {
            "process": np.broadcast_to(np.int32(self.process), count),
            "name": Interned(np.arange(count, dtype=np.int32), self.names),
            "duration_ns": np.arange(count),
        }


@pytest.fixture
def sources() -> list[Source]:
    return [Source(0, ["a", "b"]), Source(1, []), Source(2, ["b", "c", "d"])]


@pytest.fixture
def lazy(sources: list[Source]) -> Database:
    """A closed database with a lazy table of three processes, one of them without rows."""
    ingested = Ingested(lazy={"event": list(sources)})
    ingested.append("counter", {"name": ["a"], "value": [1]})
    ingested.append("counter", {"name": ["b"], "value": np.asarray([2])})
    evidence = build(ingested, "a-run", Manifest(command=[]))
    assert evidence.available == {"event", "counter"}
    evidence.database.close_to_the_outside()
    return evidence.database


def test_lazy_table_is_produced_once_and_when_named(lazy: Database, sources: list[Source]) -> None:
    for query in (
        "SELECT value FROM counter WHERE name = $name",
        "SELECT event, name FROM event_stat WHERE name = 'event'",
    ):
        lazy.rows(query, {"name": "event"} if "$" in query else None)
    assert [source.asked for source in sources] == [0, 0, 0]

    for query in ('SELECT count(*) FROM "Event"', "SELECT sum(1) FROM event WHERE process >= 0"):
        assert lazy.scalar(query) == 5
    assert [source.asked for source in sources] == [1, 1, 1]


@pytest.mark.parametrize(
    "query",
    [
        "FROM event",
        "WITH e AS (FROM main.event) SELECT 1 FROM e",
        "SUMMARIZE event",
        "SELECT 1 WHERE 5 = (SELECT count(*) FROM event)",
        "EXPLAIN SELECT * FROM EVENT",
        "SELECT * FROM counter LEFT JOIN event USING (name)",
    ],
)
def test_query_names_a_lazy_table_in_any_place(
    lazy: Database, sources: list[Source], query: str
) -> None:
    assert lazy.rows(query)
    assert [source.asked for source in sources] == [1, 1, 1]


def test_lazy_table_has_the_columns_of_the_schema(lazy: Database) -> None:
    described = {column: c.type for column, c in TABLES["event"].columns.items()}
    columns = lazy.rows("DESCRIBE event")
    assert {row["column_name"]: row["column_type"] for row in columns} == described
    first, *_ = lazy.rows("SELECT * FROM event")
    expected = {"process": 0, "name": "a", "duration_ns": 0}
    assert first == {**dict.fromkeys(described), **expected}


def test_lazy_table_has_the_rows_of_all_processes_in_order(lazy: Database) -> None:
    events = lazy.rows("SELECT process, name, duration_ns FROM event")
    assert [tuple(row.values()) for row in events] == [
        (0, "a", 0),
        (0, "b", 1),
        (2, "b", 0),
        (2, "c", 1),
        (2, "d", 2),
    ]
    grouped = "SELECT name, count(*) AS n FROM event WHERE name < 'd' GROUP BY name ORDER BY name"
    assert [tuple(row.values()) for row in lazy.rows(grouped)] == [("a", 1), ("b", 2), ("c", 1)]


def test_lazy_table_below_views_is_produced() -> None:
    columns: Columns = {"process": [0], "name": ["aten::nonzero"]}
    ingested = Ingested(lazy={"counter": [lambda: columns]})
    database = build(ingested, "a-run", Manifest(command=[])).database
    assert database.tables_in("FROM fallback_op") > {"fallback_in_loop", "counter", "step"}
    (row,) = database.rows("SELECT op FROM named_fallback")
    assert row["op"] == "aten::nonzero"


def test_lazy_table_without_any_row_is_empty() -> None:
    database = Database()
    database.lazy("event", [dict])
    assert database.rows("SELECT * FROM event") == []


def test_what_fails_to_be_produced_fails_again() -> None:
    def broken() -> Columns:
        raise IngestError("no")

    database = Database()
    database.lazy("event", [broken])
    for _ in range(2):
        with pytest.raises(IngestError):
            database.rows("SELECT * FROM event")


def test_rows_appended_as_columns_are_all_there(lazy: Database) -> None:
    assert [row["value"] for row in lazy.rows("SELECT value FROM counter")] == [1, 2]


def test_a_slow_query_has_no_progress_bar() -> None:
    """DuckDB would draw it on standard output after two seconds."""
    assert Database().scalar("SELECT current_setting('enable_progress_bar')") is False


def test_rows_of_small_batches_are_inserted_together_in_their_order() -> None:
    names = Interned(CODES, ["a.py", "b.py"])
    ingested = Ingested()
    ingested.append("step", {"line": np.arange(4), "file": names})
    ingested.append("counter", {"name": ["MarkStep"]})
    ingested.append("step", {"line": np.ma.MaskedArray([5, 6], [True, False]), "file": [None, "c"]})
    ingested.append("step", {"line": np.arange(20_000)})
    rows = build(ingested, "a", Elsewhere("text")).database.rows("SELECT line, file FROM step")
    expected = [(0, "a.py"), (1, None), (2, "b.py"), (3, "a.py"), (None, None), (6, "c")]
    assert [tuple(row.values()) for row in rows[:6]] == expected
    assert len(rows) == 20_006


def test_number_that_a_lazy_table_cannot_hold_is_noted_once_the_table_is_made() -> None:
    ingested = Ingested()
    ingested.lazy["event_stat"] = [lambda: {"number": np.array([2.0**63, 1.0])}]
    evidence = build(ingested, "a", Elsewhere("timeline"))
    assert evidence.later_notes() == []
    assert evidence.database.rows("SELECT number FROM event_stat")[0] == {"number": None}
    note = "a: a number is too large for event_stat.number; taken as unknown"
    assert evidence.later_notes() == [note]
    assert evidence.later_notes() == []
