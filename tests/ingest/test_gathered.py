"""Columns of long logs: whatever the number of rows, they read as they were added."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import rows
from xladoctor.evidence.load import build
from xladoctor.ingest import gathered
from xladoctor.ingest.gathered import Gathered, Repeated
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_records import Manifest

NUMBERS = st.integers(-(2**62), 2**62)
ROW = st.fixed_dictionaries(
    {
        "process": st.integers(0, 9),
        "thread": NUMBERS | st.none(),
        "main": st.booleans(),
        "index": st.integers(0, 2**31 - 1),
        "end_ns": NUMBERS,
        "file": st.sampled_from(["/a.py", "/b\u00e9.py", None]),
        "line": st.none() | st.integers(1, 9),
    }
)


@settings(max_examples=25, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=12), st.integers(1, 4), st.booleans())
def test_rows_come_back_from_tables_and_from_the_database(
    given_rows: list[dict[str, Any]], at_once: int, few: bool
) -> None:
    ingested = Ingested()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathered, "_ROWS", at_once)
        patch.setattr("xladoctor.evidence.columns._FEW", 1000 if few else 0)
        for part in (given_rows[:5], given_rows[5:]):  # as of two processes
            table = Gathered()
            for row in part:
                table.add("step", **{name: row[name] for name in sorted(row)})
            table.move(ingested.of(0))
        assert rows(ingested.tables["step"]) == [{"process": 0, **row} for row in given_rows]
        names = ", ".join(f'"{name}"' for name in sorted(given_rows[0]))
        database = build(ingested, "a-run", Manifest(command=[])).database
        assert database.rows(f"SELECT {names} FROM step") == given_rows


def test_columns_of_numbers_are_numbers_until_one_is_unknown() -> None:
    table = Gathered()
    for value in (1, 2):
        table.add("step", index=value)
    assert table.table("step")["index"] == array("q", [1, 2])
    table.add("step", index=None)
    assert table.table("step")["index"] == [1, 2, None]


def test_a_column_is_replaced_by_those_that_its_values_stand_for() -> None:
    table = Gathered()
    for site in (0, None, 1, 0):
        table.add("step", site=site)
    table.table("cut")
    table.replace("site", lambda site: {"file": f"{site}.py", "line": site})
    ingested = Ingested()
    table.move(ingested.of(0))
    assert ingested.tables == {
        "step": {
            "process": array("q", [0] * 4),
            "file": ["0.py", "None.py", "1.py", "0.py"],
            "line": [0, None, 1, 0],
        },
        "cut": {},
    }


def test_values_can_be_set_and_taken() -> None:
    column = Repeated(["a", None, "a"])
    column[0] = "b"
    column[2] = None
    assert (column[0], column[1:], len(column)) == ("b", [None, None], 3)
    assert column != ["a", None, "a"]
