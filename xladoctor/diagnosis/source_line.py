"""Splits a line of Python, or part of one, into code and comment."""

from __future__ import annotations

import re

# Python's tokenizer is not used, as its versions differ on partial lines.
_CODE = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^#])*""", re.DOTALL)
_LAST_COMMA = re.compile(r",(?=[)\]}])")


def code(source: str) -> str:
    """The line without what formatters change: comment, spaces, kind of quotes, trailing commas."""
    text = "".join(_parted(source)[0].split())
    return _LAST_COMMA.sub("", text.replace("'", '"'))


def without_comment(source: str) -> str:
    """The line up to its comment."""
    return _parted(source)[0]


def comment(source: str) -> str:
    """The comment, from ``#`` on; a ``#`` in a string is code."""
    return _parted(source)[1]


def _parted(source: str) -> tuple[str, str]:
    match = _CODE.match(source)
    end = match.end() if match else 0
    return source[:end], source[end:]
