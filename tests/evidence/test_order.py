"""Lists in rows have one order: DuckDB groups with several threads, each time in another."""

from __future__ import annotations

import re

from xladoctor.diagnosis.pack import load_rules
from xladoctor.evidence.catalog import statements

#: `list(…)` with its arguments, two brackets deep, and the functions around that order it or count.
LIST = re.compile(
    r"(?P<around>(?:\b\w+\()*)\blist\((?P<of>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)(?P<window>\s+OVER)?"
)
ORDERED = ("list_sort(", "list_unique(")
SQL = dict(statements())
SQL |= {rule.id: rule.query for rule in load_rules()}


def unordered(sql: str) -> list[str]:
    return [
        found[0]
        for found in LIST.finditer(sql)
        if "ORDER BY" not in found["of"]
        and not found["window"]
        and not any(name in found["around"] for name in ORDERED)
    ]


def test_lists_are_ordered() -> None:
    assert {name: lists for name, sql in SQL.items() if (lists := unordered(sql))} == {}


def test_a_list_without_an_order_is_found() -> None:
    assert unordered("SELECT list(x) FROM t") == ["list(x)"]
    assert unordered("SELECT list(DISTINCT f(x)) AS l, list(y ORDER BY y) FROM t")
    assert not unordered("SELECT list_sort(list_distinct(flatten(list(x)))), list(x) OVER w")
