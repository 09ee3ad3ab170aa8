"""The records of Dynamo's structured log: a head with an object, and lines of payload below it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from xladoctor.ingest.compressed import Unpacked
from xladoctor.ingest.formats import LogRecord
from xladoctor.ingest.interface import Notes

_HEAD = re.compile(r"[VDIWE]\d{4} \d\d:\d\d:\d\d\.\d+ (\d+) [^\]]*\] (?=\{)")
_FIRST, _LONGEST_HEAD = 100, 300  # lines that are searched for a head, and its characters
_DIGITS = 7  # most digits of a process id
_LONGEST = 100_000  # characters of a payload that are read
TABLES = ("compilation", "compile_phase", "key_change", "graph_break", "compile_limit")


def is_structured_log(head: bytes) -> bool:
    """Whether a file that starts with ``head`` is such a log."""
    return bool(_HEAD.match(head[:300].decode(errors="replace")))


def process_id(file: Path) -> int | None:
    """The id of the process that wrote a log, from its first record; None if it has none.

    Before torch 2.5 the head has the thread's id in that place.
    """
    with suppress(OSError, EOFError), io.BufferedReader(Unpacked(file)) as content:
        for line in islice(content, _FIRST):
            if match := _HEAD.match(line[:_LONGEST_HEAD].decode(errors="replace")):
                return int(match[1]) if len(match[1]) <= _DIGITS else None
    return None


def records(
    lines: Iterable[str], file: Path, noted: Notes, longest: int = _LONGEST
) -> Iterator[LogRecord]:
    """The records of a log; lines that are damaged are noted, those of other loggers skipped.

    Args:
        longest: characters of a payload that are read.
    """
    known: dict[str, Any] | None = None
    payload: list[str] = []
    size = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("\t"):
            size += len(line)
            if size < longest:
                payload.append(line[1:])
            continue
        if known:
            yield LogRecord(known, "".join(payload))
        known, size = None, 0
        payload.clear()
        match = _HEAD.match(line)
        if match is None:
            continue  # a line of another logger
        try:
            fields = json.loads(line[match.end() :])
        except (ValueError, RecursionError):
            end = "" if line.endswith("\n") else ", cut off"
            noted.lose(f"{file}, line {number}: not a record{end}; skipped", *TABLES)
            continue
        if isinstance(fields, dict):
            known = fields
    if known:
        yield LogRecord(known, "".join(payload))
