"""Texts by lines as Python reads them: ``str.splitlines`` knows more line ends than Python does."""

from __future__ import annotations

import re

#: The byte-order mark, which is no part of a file's first line.
MARK = "\ufeff"
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """The lines of a text, each with its end."""
    return _LINES.findall(text)


def indented(text: str, by: str) -> str:
    """A text with each of its lines indented, other than empty ones."""
    return "".join(by + line if line.strip() else line for line in lines_of(text))
