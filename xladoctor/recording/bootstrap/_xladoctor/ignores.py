"""Comments that ask to ignore findings, and the lines that each of them is about.

``# xladoctor: ignore[RULE] reason`` at the end of a line is about that line. In the first or last
line of a statement of several lines it is about all of them. On a line of its own it is about what
begins directly below it: a statement, or a line within one.
"""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from typing import Iterator, NamedTuple, Sequence

#: The rules, separated by commas, and the reason.
COMMENT = re.compile(r"#\s*xladoctor:\s*ignore\[([A-Z0-9,\s]+)\]\s*(.*)$")
#: What is meant to be one, even if it cannot be understood.
_MEANT = re.compile(r"#\s*xladoctor:\s*ignore\b.*$", re.IGNORECASE)
_MARK = "xladoctor:"
_LARGEST = 20_000  # lines of a file; larger ones are made by programs, and take long to read
_BETWEEN = (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class Ignore(NamedTuple):
    """A comment: its line; the first and last line that it is about; its text from ``#`` on."""

    line: int
    first: int
    last: int
    text: str


def ignores(source: Sequence[str]) -> list[Ignore]:
    """The comments in the lines of a file; of one that is damaged those before the damage."""
    found: list[Ignore] = []
    if len(source) <= _LARGEST and any(_MARK in line.lower() for line in source):
        with contextlib.suppress(tokenize.TokenError, SyntaxError):
            found.extend(_comments(source))
    return found


def _comments(source: Sequence[str]) -> Iterator[Ignore]:
    above: list[tuple[int, str]] = []  # on lines of their own, up to here
    inside: list[tuple[int, int, str]] = []  # of this statement: their line, and which it is about
    first = 0  # line of this statement; 0 between two
    for token in tokenize.generate_tokens(io.StringIO("".join(source)).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            found = _MEANT.search(token.string)
            if not source[line - 1][: token.start[1]].strip():
                above.append((line, found[0] if found else ""))
            elif found:
                inside.append((line, line, found[0]))
        elif token.type == tokenize.NEWLINE:
            for at, about, asked in inside:
                whole = about == first or at == line
                yield Ignore(at, first if whole else about, line if whole else about, asked)
            first, inside = 0, []
        elif token.type == tokenize.NL:
            if not source[line - 1].strip():
                above = []
        elif token.type not in _BETWEEN:
            first = first or line
            inside += [(at, line, asked) for at, asked in above if asked]
            above = []
