"""The views by name, as their files introduce them.

Those that several rules read are tables, built once when the evidence is complete.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_DEFINITION = re.compile(r"^CREATE (?:VIEW|TABLE) (\w+) AS\b(.*?);$", re.MULTILINE | re.DOTALL)
_VIEW = re.compile(r"((?:^-- .*\n)*)^CREATE (?:VIEW|TABLE) (\w+) AS\b", re.MULTILINE)
_MACRO = re.compile(r"^CREATE MACRO (\w+)\([^;]*?\) AS\b(.*?);$", re.MULTILINE | re.DOTALL)
#: What a query reads from, and whatever it calls.
_NAMED = re.compile(r'\b(?:FROM|JOIN)\s+"?(\w+)|\b(\w+)\s*\(', re.IGNORECASE)


def view_files(*below: str) -> list[str]:
    """The texts of ``views/*.sql``, or of a folder below, in the order of their names."""
    folder = resources.files("xladoctor.evidence").joinpath("views", *below)
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")),
                   key=lambda file: file.name)  # fmt: skip
    return [file.read_text(encoding="utf-8") for file in files]


def _all_files() -> list[str]:
    return [*view_files(), *view_files("derived")]


@cache
def views() -> dict[str, str]:
    """Each view, with the comment above it."""
    return {
        match[2]: " ".join(line.removeprefix("-- ") for line in match[1].splitlines())
        for text in _all_files()
        for match in _VIEW.finditer(text)
    }


@cache
def definitions() -> dict[str, str]:
    """Each view, with its query."""
    return {match[1]: match[2] for text in _all_files() for match in _DEFINITION.finditer(text)}


@cache
def _macros() -> dict[str, str]:
    return {match[1]: match[2] for text in _all_files() for match in _MACRO.finditer(text)}


def tables_behind(query: str) -> set[str]:
    """The tables and views that a query reads, also by the views and macros that it names."""
    made_of = definitions() | _macros()
    names: set[str] = set()
    pending = [query]
    while pending:
        found = {name for pair in _NAMED.findall(pending.pop()) for name in pair if name} - names
        names |= found
        pending += [made_of[name] for name in found & made_of.keys()]
    return names
