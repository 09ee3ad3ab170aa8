"""The columns of a query as they are written, with their places in its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from xladoctor.evidence.allowlist import parsed

_TEXT = re.compile(rb"'((?:[^']|'')*)'")


class Column(NamedTuple):
    """What one SELECT writes for a column of the result.

    Attributes:
        name: empty for a star, and for what has no name.
        line: in the query, from 1.
        column: in the line, from 0.
        texts: constants that it can be, each with its line and column.
    """

    name: str
    line: int
    column: int
    texts: list[tuple[str, int, int]]


def columns_in(query: str) -> Iterator[list[Column]]:
    """The columns of each SELECT whose rows the query returns; those of a UNION are several.

    Raises:
        ValueError, duckdb.Error: it is not one SELECT.
    """
    content = query.encode()
    for select in _selects(parsed(query)["statements"][0]["node"]):
        yield [
            Column(_name(item), *_at(content, item), list(_texts(content, item)))
            for item in select["select_list"]
        ]


def _selects(node: Any) -> Iterator[Any]:
    if not isinstance(node, dict):
        return
    if node["type"] == "SELECT_NODE":
        yield node
    for part in (node.get("left"), node.get("right"), node.get("child"), *node.get("children", [])):
        yield from _selects(part)


def _name(item: Any) -> str:
    return str(item["alias"] or (item.get("column_names") or [""])[-1])


def _at(content: bytes, item: Any) -> tuple[int, int]:
    lines = content[: _offset(content, item)].decode(errors="ignore").split("\n")
    return len(lines), len(lines[-1])


def _offset(content: bytes, item: Any) -> int:
    """Where it begins; the end for what nobody wrote, such as the NULL of a CASE without ELSE."""
    return min(int(item["query_location"]), len(content))


def _texts(content: bytes, item: Any) -> Iterator[tuple[str, int, int]]:
    """The texts that a constant or a CASE can be."""
    if item["class"] == "CASE":
        for part in (*(check["then_expr"] for check in item["case_checks"]), item["else_expr"]):
            yield from _texts(content, part)
    elif item["class"] == "CONSTANT" and (match := _TEXT.match(content, _offset(content, item))):
        yield match[1].decode(errors="ignore"), *_at(content, item)
