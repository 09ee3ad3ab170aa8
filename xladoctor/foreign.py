"""Sanitizes text from elsewhere for output: the names, lines and messages of programs and files.

Terminals obey control characters, CI systems obey lines that look like commands, people misread
text whose direction is overridden, and no encoding has the surrogates that Python uses for a path
that is not UTF-8.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

_HALVES = re.compile("[\ud800-\udfff]")
#: Colours, and links to files as rich writes them.
_SHADES = re.compile(
    r"(\x1b\[[\d;]*m|\x1b\]8;(?:id=[\w-]+;file:///[\w%./~+@:,=-]*#\d+|;)\x1b\\)", re.ASCII
)
#: Commands that GitHub and similar systems obey: at the beginning of a line, and anywhere in it.
_COMMAND = re.compile(r"^([^\S\n]*)(?=::)", re.MULTILINE)
_ANYWHERE = re.compile(r"(?<=#)#(?=\[|vso\[|teamcity\[)")
_PLAIN_WORD = re.compile(r"[\w@%+=:,./-]+")  # letters of any language, unlike shlex
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def clean(text: str, *, lines: bool = False) -> str:
    r"""The text in printable characters: ``\x1b``, ``\u202e`` or ``\n`` for all others.

    Args:
        lines: whether newlines and tabs are meant, and stay.
    """
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in kept else _escape(c) for c in text)


def encodable(text: str) -> str:
    r"""The text with ``\xff`` for the bytes that are not UTF-8; all else stays."""
    return _HALVES.sub(lambda half: _escape(half[0]), text)


def quoted(*words: str) -> str:
    r"""Words as a shell reads them; those with control characters as bash's ``$'a\nb'``."""
    return " ".join(map(_quoted, words))


def harmless(text: str, *, colored: bool = False, commands: bool = False) -> str:
    """A whole output: what is not printable escaped, no line of it a command.

    Args:
        colored: whether colours and links to files are meant.
        commands: whether lines that begin with ``::`` are meant.
    """
    if not text.replace("\n", "").isprintable():
        parts = _SHADES.split(text) if colored else [text]
        parts[::2] = [clean(part, lines=True) for part in parts[::2]]
        text = "".join(parts)
    text = _ANYWHERE.sub(r"\\#", text)
    return text if commands else _COMMAND.sub(r"\1\\", text)


def as_json(value: Any, *, ascii_only: bool = False) -> str:
    r"""Indented JSON with every text unchanged, except for ``\xff`` as in :func:`encodable`.

    Args:
        ascii_only: whether only ASCII can be written.
    """
    return json_text(json.dumps(value, indent=1, ensure_ascii=False), ascii_only=ascii_only) + "\n"


def json_text(text: str, *, ascii_only: bool = False) -> str:
    """JSON with escapes for what is not printable in its strings."""
    text = _HALVES.sub(lambda half: "\\" + _escape(half[0]), text)
    if not text.replace("\n", "").isprintable() or (ascii_only and not text.isascii()):
        text = "".join(map(partial(_in_json, ascii_only=ascii_only), text))
    return _ANYWHERE.sub(r"\\u0023", text)


def csv_lines(lines: Iterable[str]) -> Iterator[str]:
    """CSV whose values are clean, each row on one line; a line like a command begins with a quote.

    Args:
        lines: as DuckDB writes them, with their ends.
    """
    inside = False
    for line in lines:
        signs = '"' in line or "##" in line or line.lstrip().startswith("::")
        if not inside and not signs and line[:-1].isprintable():  # as almost all lines are
            yield line
            continue
        parts = line.split('"')
        meant = [inside == bool(number % 2) for number in range(len(parts))]
        row = '"'.join(clean(p, lines=our) for p, our in zip(parts, meant, strict=True))
        if not inside and row.lstrip().startswith("::"):
            first, end, rest = re.split(r"([,\n])", row, maxsplit=1)
            row = f'"{first}"{end}{rest}'
        yield harmless(row)
        inside = not meant[-1]


def _in_json(character: str, *, ascii_only: bool) -> str:
    if character in "\n\t":  # between values; JSON strings cannot contain them
        return character
    if character.isprintable() and (character.isascii() or not ascii_only):
        return character
    return json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def _quoted(word: str) -> str:
    if _PLAIN_WORD.fullmatch(word):
        return word
    if word.isprintable() and not _ANYWHERE.search(word):
        return shlex.quote(word)
    inside = clean(word.replace("\\", r"\\").replace("'", r"\'"))
    return "$'" + _ANYWHERE.sub(r"\\x23", inside) + "'"


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return _SHORT.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
