"""What people read of the tables, views and macros: columns of views with types, and examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from xladoctor.evidence.catalog import public_macros, public_views, views
from xladoctor.evidence.query_shapes import query_shapes
from xladoctor.evidence.schema import TABLES, Column
from xladoctor.facts.table import SITE

_COMMON = ("process", "thread", *SITE)  # columns that mean the same everywhere
_OTHERS, _AS_IN = "others", "as in "
_INNER = re.compile(r"\([^()]*\)")  # of a type


@cache
def view_columns() -> dict[str, dict[str, Column]]:
    """The columns of each view that rules and queries may rely on.

    Of types made of others only the outermost is named: STRUCT, STRUCT[], MAP.
    """
    return {
        view: {name: Column(kind, _meaning(view, name)) for name, kind in _types(view)}
        for view in public_views()
    }


def _types(view: str) -> Iterator[tuple[str, str]]:
    """The names and types of a view's columns."""
    if shape := query_shapes().views.get(view):
        columns = shape.columns
    else:  # it has changed since
        from xladoctor.evidence.query_analysis import columns_of

        columns = columns_of(view)
    while _INNER.search(columns):
        columns = _INNER.sub("", columns)
    for column in columns.split(", "):
        name, _, kind = column.partition(" ")
        yield name.strip('"'), kind


def examples() -> dict[str, str]:
    """A query for each table, view and macro that shows what it is good for."""
    others = public_views() | public_macros()
    return {name: table.example for name, table in TABLES.items()} | {
        name: definition.example for name, definition in others.items()
    }


def _meaning(relation: str, column: str) -> str:
    """What a column of a table or view means; empty if that is not said."""
    if relation in TABLES:
        columns = TABLES[relation].columns
        return columns[column].text if column in columns else ""
    said = views()[relation].columns
    if column in said:
        return said[column]
    alike = said[_OTHERS].removeprefix(_AS_IN).split(", ") if _OTHERS in said else []
    alike += ["host_sync"] if column in _COMMON else []
    return next((text for other in alike if (text := _meaning(other, column))), "")
