"""The views by name, as their files introduce them."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_VIEW = re.compile(r"((?:^-- .*\n)*)^CREATE VIEW (\w+) AS\b", re.MULTILINE)


def view_files() -> list[str]:
    """The texts of ``views/*.sql``, in the order of their names."""
    folder = resources.files("xladoctor.evidence") / "views"
    files = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return [file.read_text(encoding="utf-8") for file in files]


@cache
def views() -> dict[str, str]:
    """Each view, with the comment above it."""
    return {
        found[2]: " ".join(line.removeprefix("-- ") for line in found[1].splitlines())
        for text in view_files()
        for found in _VIEW.finditer(text)
    }
