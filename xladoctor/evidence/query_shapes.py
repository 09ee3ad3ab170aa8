"""What is known of the views and of the rules' queries before they run, so that most need not run:
planning a query takes DuckDB longer than running it on a small recording.

``query_shapes.json`` is made by :mod:`~xladoctor.evidence.query_analysis` (``make docs``). Without
it, or where it was made from other views, everything runs.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from functools import cache
from importlib import resources

import msgspec

from xladoctor.evidence.catalog import statements, view_files, words
from xladoctor.evidence.schema import TABLES

#: Sets of relations: a query has no rows where all of one set have none.
Conditions = list[list[str]]


class ViewShape(msgspec.Struct, frozen=True):
    """A view.

    Attributes:
        columns: their names and types, as CREATE TABLE takes them.
        reads: the tables, views and macros that its query names.
        empty_without: when it has no rows.
    """

    columns: str
    reads: list[str]
    empty_without: Conditions


class QueryShapes(msgspec.Struct, frozen=True):
    """The file.

    Attributes:
        sources: what it was made from, as :func:`sources_key`.
        views: by name.
        macros: what each names.
        queries: by :func:`key_of` the query, when it has no rows.
    """

    sources: str = ""
    views: dict[str, ViewShape] = {}
    macros: dict[str, list[str]] = {}
    queries: dict[str, Conditions] = {}


@cache
def query_shapes() -> QueryShapes:
    """The shapes, empty if they are not those of the present views."""
    file = resources.files("xladoctor.evidence") / "query_shapes.json"
    if not file.is_file():
        return QueryShapes()
    made = msgspec.json.decode(file.read_bytes(), type=QueryShapes)
    return made if made.sources == sources_key() else QueryShapes()


@cache
def named_by(name: str) -> list[str]:
    """The tables, views and macros that a view or macro names. Where no shape says so, any word
    of it may be the name of an earlier one.
    """
    shapes = query_shapes()
    if name in shapes.views:
        return shapes.views[name].reads
    if name in shapes.macros:
        return shapes.macros[name]
    created = statements() | statements("derived")
    earlier = itertools.takewhile(lambda each: each != name, created)
    return sorted(words(created.get(name, "")) & {*TABLES, *earlier})


def with_named(names: Iterable[str]) -> set[str]:
    """These, and all that they depend on."""
    found, pending = set[str](), list(names)
    while pending:
        if (name := pending.pop()) not in found:
            found.add(name)
            pending += named_by(name)
    return found


def sources_key() -> str:
    """Changes with each view, macro and table."""
    tables = [
        f"{name}.{column} {described.type}"
        for name, table in TABLES.items()
        for column, described in table.columns.items()
    ]
    return key_of("\n".join([*view_files(), *view_files("derived"), *tables]))


def key_of(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]
