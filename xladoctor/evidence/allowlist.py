"""Checks what a third-party query names: only tables, views and macros of the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from xladoctor.evidence.catalog import macros, views
from xladoctor.evidence.schema import TABLES
from xladoctor.evidence.syntax import nodes, syntax

#: Table functions that only generate rows.
_MAKERS = frozenset({"range", "generate_series", "unnest"})
_READING = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
#: Functions that read or change something outside of the evidence.
_OUTSIDE = frozenset({"current_setting", "getenv", "getvariable", "setval", "nextval", "write_log"})


def not_of_the_evidence(query: str) -> list[str]:
    """The names in a SELECT that are not of the evidence: other tables and functions, each once.

    Raises:
        ValueError: the query cannot be analysed.
        duckdb.Error: it is not SQL.
    """
    found = list(nodes(parsed(query)))
    own = {
        entry["key"].lower()
        for node in found
        for entry in node.get("map", [])
        if isinstance(entry, dict) and "key" in entry
    }
    return list(dict.fromkeys(name for node in found for name in _foreign(node, own)))


def parsed(query: str) -> dict[str, Any]:
    """The syntax tree of a SELECT. Raises ValueError and duckdb.Error."""
    return syntax(query, _parser())


@cache
def _parser() -> Any:
    import duckdb

    return duckdb.connect()


def _foreign(node: dict[str, Any], own: set[str]) -> Iterator[str]:
    """The names in a node of the query that are not of the evidence.

    Args:
        own: names that the query itself defines in WITH.
    """
    kind = str(node.get("type"))
    if kind.endswith("_NODE") and kind not in _READING:
        yield kind.removesuffix("_QUERY_NODE")  # DELETE, …
    elif kind == "SHOW_REF":
        yield "SHOW, DESCRIBE or SUMMARIZE"
    elif kind == "BASE_TABLE":
        name = node["table_name"].lower()
        if node.get("schema_name") or node.get("catalog_name"):
            yield ".".join(filter(None, (node["catalog_name"], node["schema_name"], name)))
        elif name not in own and name not in TABLES and name not in views():
            yield name
    elif kind == "TABLE_FUNCTION":
        name = node["function"]["function_name"].lower()
        if name not in _MAKERS and name not in macros():
            yield f"{name}()"
    elif (name := str(node.get("function_name", "")).lower()) in _OUTSIDE:
        yield f"{name}()"
