"""The views and macros by name, with the comments above them in their files.

In the database views are tables, each made when a query first names it: planning a query over
nested views takes longer than running it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from xladoctor.warmup import WARMUP

_DEFINITION = re.compile(r"^CREATE TABLE (\w+) AS\b(.*?);$", re.MULTILINE | re.DOTALL)
_VIEW = re.compile(r"((?:^-- .*\n)*)^CREATE TABLE (\w+) AS\b", re.MULTILINE)
_INTERNAL = "Internal: "
_HEAD = re.compile(r"((?:^-- .*\n)*)^CREATE MACRO (\w+)\(([^;]*?)\) AS\b( TABLE\b)?", re.MULTILINE)
_STATEMENT = re.compile(r"^CREATE \w+ (\w+)\b.*?;$", re.MULTILINE | re.DOTALL)
_MACRO = re.compile(
    r"^CREATE MACRO (\w+)\([^;]*?\) AS\b( TABLE\b)?(.*?);$", re.MULTILINE | re.DOTALL
)


def view_files(*below: str) -> list[str]:
    """The texts of ``views/*.sql``, or of a folder below, in the order of their names."""
    folder = resources.files("xladoctor.evidence").joinpath("views", *below)
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [file.read_text(encoding="utf-8") for file in files]


@cache
def statements(*below: str) -> dict[str, str]:
    """By name, the statement that creates each view and macro of ``views/*.sql``, or of a folder
    below, in their order.
    """
    texts = "\n".join(view_files(*below))
    return {match[1]: match[0] for match in _STATEMENT.finditer(texts)}


def words(query: str) -> set[str]:
    """The words of a query in lower case, as names are written here."""
    return set(re.findall(r"\w+", query.lower()))


def _all_files() -> list[str]:
    return [*view_files(), *view_files("derived")]


@cache
def views() -> dict[str, str]:
    """Each view, with the comment above it."""
    return {match[2]: _comment(match[1]) for text in _all_files() for match in _VIEW.finditer(text)}


def public_views() -> dict[str, str]:
    """The views that rules and queries may rely on."""
    return {name: text for name, text in views().items() if not text.startswith(_INTERNAL)}


def public_macros() -> dict[str, Macro]:
    """The macros that rules and queries may rely on."""
    return {
        name: macro for name, macro in macro_heads().items() if not macro.text.startswith(_INTERNAL)
    }


class Macro(NamedTuple):
    """A macro: how to call it, what it returns, and whether it is a table macro."""

    call: str
    text: str
    gives_rows: bool = False


@cache
def macro_heads() -> dict[str, Macro]:
    """Each macro with its description."""
    warmup = Macro("warmup()", f"Iterations of a loop that count as its warm-up: {WARMUP}.")
    return {"warmup": warmup} | {
        head[2]: Macro(_call(head[2], head[3]), _comment(head[1]), bool(head[4]))
        for text in _all_files()
        for head in _HEAD.finditer(text)
    }


def _call(name: str, parameters: str) -> str:
    """A macro's call as in a query: arguments with a default must be named."""
    return f"{name}({' '.join(re.sub(r'_(?=,|$)', '', parameters).split())})"


def _comment(lines: str) -> str:
    return " ".join(line.removeprefix("-- ") for line in lines.splitlines())


@cache
def definitions() -> dict[str, str]:
    """Each view, with its query."""
    return {match[1]: match[2] for text in _all_files() for match in _DEFINITION.finditer(text)}


@cache
def macros() -> dict[str, str]:
    """Each macro, as a query."""
    return {
        match[1]: match[3] if match[2] else f"SELECT {match[3]}"
        for text in _all_files()
        for match in _MACRO.finditer(text)
    }
