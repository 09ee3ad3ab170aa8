"""Call sites as structs: what the macros over them choose."""

from __future__ import annotations

from typing import Any

from tests.support import Row, evidence

LIBRARY: Row = {"process": 0, "file": "lib.py", "line": 9, "function": "read", "count": 1}
NOBODY: Row = {"user_file": None, "user_line": None, "user_function": None}


def called(line: int, **fields: Any) -> Row:
    return {**LIBRARY, "user_file": "train.py", "user_line": line, "user_function": "f", **fields}


def answer(rows: list[Row], expression: str) -> Row:
    query = f"SELECT unnest({expression}) FROM host_sync h GROUP BY process"
    return evidence({"host_sync": rows}).database.rows(query)[0]


def test_commonest_caller_is_the_line_with_most_counts() -> None:
    rows = [called(3, count=2), called(5, count=7), {**LIBRARY, **NOBODY, "count": 90}]
    assert answer(rows, "commonest_caller(h, count)") == {
        "user_file": "train.py",
        "user_line": 5,
        "user_function": "f",
    }


def test_of_equal_callers_the_last_line_is_named() -> None:
    rows = [called(8), called(3)]
    assert answer(rows, "commonest_caller(h, count)")["user_line"] == 8


def test_a_line_of_the_user_s_own_has_no_caller() -> None:
    assert answer([{**LIBRARY, **NOBODY}], "commonest_caller(h, count)") == NOBODY


def test_related_site_is_the_user_s_line() -> None:
    related = "any_value(related(h, 'due'))"
    assert answer([called(3)], related) == {
        "related_file": "train.py",
        "related_line": 3,
        "related_function": "f",
        "related_role": "due",
    }
    assert answer([{**LIBRARY, **NOBODY}], related)["related_file"] == "lib.py"
