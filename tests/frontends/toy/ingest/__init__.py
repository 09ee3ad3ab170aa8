"""What toyarrays prints of its compilations: ``toyarrays: compiled graph 3 in 52 ms``."""

from __future__ import annotations

import re

from xladoctor.ingest.compiler_log import CompilerLog, compilation
from xladoctor.ingest.formats import Formats
from xladoctor.ingest.frames import NOWHERE
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows

_LINE = re.compile(r"toyarrays: compiled (\w+) in (\d{1,9}) ms")


class _Log(CompilerLog):
    NAME = "toyarrays' log"
    LACKING = "no compilation in toyarrays' log"
    MARKS = ("toyarrays: ",)

    def __init__(self) -> None:
        self._made: list[tuple[str, int]] = []

    @property
    def has_records(self) -> bool:
        return bool(self._made)

    def take(self, line: str) -> bool:
        if match := _LINE.search(line):
            self._made.append((match[1], int(match[2])))
        return match is not None

    def add(self, made: Gathered, rows: ProcessRows) -> str:
        for number, (name, milliseconds) in enumerate(self._made):
            before = sum(other == name for other, _ in self._made[:number])
            ns = milliseconds * 1_000_000
            row = compilation(number, name, before, NOWHERE, duration_ns=ns)
            made.add_row("compilation", row)
        return "toyarrays"


FORMATS = Formats(expected=("what toyarrays logs (TOYARRAYS_LOG=1)",), logs=(_Log,))
