"""The syntax trees of queries, as DuckDB gives them (``json_serialize_sql``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


def syntax(query: str, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """The syntax tree of a SELECT. Raises ValueError and duckdb.Error."""
    parse = "SELECT json_serialize_sql($query::VARCHAR)"
    ((text,),) = connection.execute(parse, {"query": query}).fetchall()
    try:
        tree: dict[str, Any] = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if tree["error"]:
        raise ValueError(f"not one SELECT that can be checked: {tree['error_message']}")
    return tree


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects in a syntax tree."""
    pending = [tree]
    while pending:
        branch = pending.pop()
        if isinstance(branch, dict):
            yield branch
            pending += branch.values()
        elif isinstance(branch, list):
            pending += branch
