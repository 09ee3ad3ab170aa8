"""The views and macros by name, with the comments above them in their files.

A comment says what a view or macro is; then, in lines that begin with ``*``, what columns of a view
mean, or after ``others: as in`` whose columns of the same name mean the same; and after ``>`` a
query that shows what it is good for.

In the database views are tables, each made when a query first names it: planning a query over
nested views takes longer than running it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from xladoctor.warmup import WARMUP

_DEFINITION = re.compile(
    r"((?:^-- [^\n]*\n)*)^(CREATE (?:TABLE|MACRO) (\w+)(?:\(([^;]*?)\))? AS\b( TABLE\b)?(.*?);)$",
    re.MULTILINE | re.DOTALL,
)
_INTERNAL = "Internal: "
_COLUMN, _EXAMPLE = "* ", "> "


class Definition(NamedTuple):
    """A view or macro.

    Attributes:
        text: what it is.
        columns: of a view, what its columns mean; under ``others``, see the module.
        example: a query with it; empty if it has none.
        statement: what creates it.
        query: its query; that of an expression selects it.
        call: how to call it, if it is a macro.
        gives_rows: whether it is a table macro.
    """

    text: str
    columns: dict[str, str]
    example: str
    statement: str
    query: str
    call: str = ""
    gives_rows: bool = False

    @property
    def is_public(self) -> bool:
        """Whether rules and queries may rely on it."""
        return not self.text.startswith(_INTERNAL)


def view_files(*below: str) -> list[str]:
    """The texts of ``views/*.sql``, or of a folder below, in the order of their names."""
    folder = resources.files("xladoctor.evidence").joinpath("views", *below)
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [file.read_text(encoding="utf-8") for file in files]


@cache
def _defined(*below: str) -> dict[str, Definition]:
    """The definitions in ``views/*.sql``, or in a folder below, in their order."""
    matches = (match for text in view_files(*below) for match in _DEFINITION.finditer(text))
    return {match[3]: _definition(match) for match in matches}


def _definition(match: re.Match[str]) -> Definition:
    comment, statement, name, parameters, gives_rows, query = match.groups()
    lines = [line.removeprefix("-- ") for line in comment.splitlines()]
    return Definition(
        " ".join(line for line in lines if not line.startswith((_COLUMN, _EXAMPLE))),
        dict(line[len(_COLUMN) :].split(": ", 1) for line in lines if line.startswith(_COLUMN)),
        next((line[len(_EXAMPLE) :] for line in lines if line.startswith(_EXAMPLE)), ""),
        statement,
        query if parameters is None or gives_rows else f"SELECT {query}",
        "" if parameters is None else _call(name, parameters),
        bool(gives_rows),
    )


def _call(name: str, parameters: str) -> str:
    """A macro's call as in a query: arguments with a default must be named."""
    return f"{name}({' '.join(re.sub(r'_(?=,|$)', '', parameters).split())})"


def statements(*below: str) -> dict[str, str]:
    """By name, the statement that creates each view and macro of ``views/*.sql``, or of a folder
    below, in their order.
    """
    return {name: definition.statement for name, definition in _defined(*below).items()}


def words(query: str) -> set[str]:
    """The words of a query in lower case, as names are written here."""
    return set(re.findall(r"\w+", query.lower()))


@cache
def views() -> dict[str, Definition]:
    """Each view."""
    known = _defined() | _defined("derived")
    return {name: definition for name, definition in known.items() if not definition.call}


@cache
def macros() -> dict[str, Definition]:
    """Each macro of the files."""
    known = _defined() | _defined("derived")
    return {name: definition for name, definition in known.items() if definition.call}


@cache
def macro_heads() -> dict[str, Definition]:
    """Each macro, with the one that is not of the files."""
    warmup = Definition(
        f"Iterations of a loop that count as its warm-up: {WARMUP}.",
        {},
        "SELECT count(*) AS steps FROM step WHERE NOT tail AND ordinal >= warmup()",
        f"CREATE MACRO warmup() AS {WARMUP}",
        f"SELECT {WARMUP}",
        "warmup()",
    )
    return {"warmup": warmup} | macros()


def public_views() -> dict[str, Definition]:
    """The views that rules and queries may rely on."""
    return {name: view for name, view in views().items() if view.is_public}


def public_macros() -> dict[str, Definition]:
    """The macros that rules and queries may rely on."""
    return {name: macro for name, macro in macro_heads().items() if macro.is_public}
