"""Comments that ignore findings, and the lines that each applies to.

``# xladoctor: ignore[RULE] reason`` at the end of a line applies to that line. At the first or last
line of a statement of several lines it applies to all of them. On a line of its own it applies to
what begins directly below it: a statement, or a line within one.
"""

from __future__ import annotations

import contextlib
import io
import re
import tokenize
from typing import Iterator, NamedTuple, Sequence

#: The rules, separated by commas, and the reason.
COMMENT = re.compile(r"#\s*xladoctor:\s*ignore\[([A-Z0-9,\s]+)\]\s*(.*)$")
#: Comments that are meant as one, even if they are malformed.
_MEANT = re.compile(r"#\s*xladoctor:\s*ignore\b.*$", re.IGNORECASE)
_MARK = "xladoctor:"
_LARGEST = 20_000  # lines; larger files are generated, and take long to read
_BETWEEN = (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


class Ignore(NamedTuple):
    """A comment: its line, the first and last line that it applies to, its text from ``#`` on."""

    line: int
    first: int
    last: int
    text: str


def ignores(source: Sequence[str]) -> list[Ignore]:
    """The comments in a file's lines; if it cannot be tokenized, those before the fault."""
    found: list[Ignore] = []
    if len(source) <= _LARGEST and any(_MARK in line.lower() for line in source):
        with contextlib.suppress(tokenize.TokenError, SyntaxError):
            found.extend(_comments(source))
    return found


def _comments(source: Sequence[str]) -> Iterator[Ignore]:
    above: list[tuple[int, str]] = []  # comments on lines of their own, directly above
    inside: list[tuple[int, int, str]] = []  # of this statement: line, line it applies to, text
    first = 0  # first line of this statement; 0 between statements
    for token in tokenize.generate_tokens(io.StringIO("".join(source)).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            found = _MEANT.search(token.string)
            if not source[line - 1][: token.start[1]].strip():
                above.append((line, found[0] if found else ""))
            elif found:
                inside.append((line, line, found[0]))
        elif token.type == tokenize.NEWLINE:
            for at, about, text in inside:
                whole = about == first or at == line
                yield Ignore(at, first if whole else about, line if whole else about, text)
            first, inside = 0, []
        elif token.type == tokenize.NL:
            if not source[line - 1].strip():
                above = []
        elif token.type not in _BETWEEN:
            first = first or line
            inside += [(at, line, text) for at, text in above if text]
            above = []
