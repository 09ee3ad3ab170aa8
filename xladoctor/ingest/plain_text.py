"""Extracts console text from what people keep: text with colours, web pages of a discussion, or the
output of a notebook's cells.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from io import BytesIO, RawIOBase
from typing import BinaryIO

_BLOCK = 1 << 16
_MAX_LINE = 1 << 20
_PAGE = re.compile(rb"\s*<(!doctype|html|head|body|div|pre|p|table|span|code|!--)\b", re.IGNORECASE)
_NOTEBOOK = re.compile(rb"\s*\{\s*\"(?:cells|metadata|nbformat)")
_MAX_WHOLE = 1 << 26  # bytes of a file that is read at once
#: Control sequences (ECMA-48, 5.4) and operating system commands, such as links.
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_INLINE = frozenset({"a", "b", "code", "em", "font", "i", "s", "span", "strong", "tt", "u", "wbr"})
_UNSEEN = frozenset({"script", "style", "head", "template"})


def as_utf8(head: bytes, rest: BinaryIO | RawIOBase) -> tuple[bytes, BinaryIO | RawIOBase]:
    """A stream, whose ``head`` was already read, in UTF-8; PowerShell writes UTF-16."""
    if b"\x00" not in head or not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.removeprefix(codecs.BOM_UTF8), rest
    text = (head + (rest.read(_MAX_WHOLE) or b"")).decode("utf-16", errors="replace")
    content = text.encode(errors="replace")
    return content[: len(head)], BytesIO(content[len(head) :])


def plain_lines(head: bytes, rest: BinaryIO | RawIOBase) -> Iterator[str]:
    """The lines of a stream, whose ``head`` was already read, as people see them.

    An endless line is cut off. A text that starts like a web page or a notebook is read as one.
    """
    if _NOTEBOOK.match(head):
        return _of_notebook(head + (rest.read(_MAX_WHOLE) or b""))
    lines = _lines(head, rest)
    return _Page().lines(lines) if _PAGE.match(head) else lines


def _lines(head: bytes, rest: BinaryIO | RawIOBase) -> Iterator[str]:
    block: bytes | None = head
    pending = b""
    while block:
        whole, end, last = block.rpartition(b"\n")
        if end:
            yield from _shown(pending + whole + end)
            pending = b""
        if len(pending) < _MAX_LINE:
            pending = (pending + last)[:_MAX_LINE]
        block = rest.read(_BLOCK)
    yield from _shown(pending)


def _of_notebook(content: bytes) -> Iterator[str]:
    """The output of a notebook's cells; the text as it is if it is not a notebook."""
    try:
        cells = json.loads(content)["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        texts = [
            output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs
        ]
        yield from _shown("\n".join("".join(text) for text in texts).encode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        yield from _shown(content)


def _shown(block: bytes) -> list[str]:
    lines = block.decode(errors="replace").splitlines(keepends=True)
    if b"\x1b" in block:
        return [_CONTROL.sub("", line) for line in lines]
    return lines


class _Page(HTMLParser):
    """Splits a page's text into lines: at its own line ends, and at every block element."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._text: list[str] = []
        self._unseen = 0

    def lines(self, source: Iterable[str]) -> Iterator[str]:
        pending: list[str] = []
        length = 0
        for line in source:
            pending.append(line)
            length += len(line)
            if length > _BLOCK + len(self.rawdata):  # what is not closed is parsed again each time
                self.feed("".join(pending))
                pending, length = [], 0
                yield from self._whole()
        self.feed("".join(pending))
        self.close()
        self._text.append("\n")
        yield from self._whole()

    def _whole(self) -> Iterator[str]:
        whole, end, last = "".join(self._text).rpartition("\n")
        self._text = [last]
        yield from (whole + end).splitlines(keepends=True)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._unseen += tag in _UNSEEN
        if tag not in _INLINE:
            self._text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._unseen = max(0, self._unseen - (tag in _UNSEEN))
        if tag not in _INLINE:
            self._text.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._text.append(data)
