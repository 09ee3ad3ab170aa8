"""Follows how a running program is doing, from its growing step logs."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import msgspec

from xladoctor.regular_files import LOG, open_regular

#: Seconds that count as recent.
LATELY_S = 10.0
_REMEMBERED = 200  # steps for the median


class _Line(msgspec.Struct):
    """The needed fields of a line of the step log."""

    event: str
    end_ns: int = 0
    duration_ns: int = 0
    compilations: int = 0
    steps: int = 1
    reads: list[tuple[int, str, int, int, int, int]] = []  # the fourth is how often


@dataclass(slots=True)
class _Log:
    """The step log of a process, as far as it has been read."""

    offset: int = 0
    steps: int = 0
    compilations: int = 0
    last_ns: int = 0
    usual: deque[int] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    lately: deque[tuple[int, int, int, int]] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of the process that has made the most steps; ``compilations`` are of all processes.

    Attributes:
        lately: steps, compilations and reads of the last ten seconds.
        last_ms, median_ms: the last step, and the median of earlier steps that did not compile;
            None without any.
    """

    steps: int
    compilations: int
    lately: tuple[int, int, int]
    last_ms: float | None = None
    median_ms: float | None = None


class Logs:
    """The step logs of a run directory. They are read as they grow, each line once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._logs: dict[Path, _Log] = {}
        self._decode = msgspec.json.Decoder(_Line).decode

    def pace(self) -> Pace:
        """The current pace."""
        for path in self._directory.glob("process-*/steps.jsonl"):
            self._follow(path, self._logs.setdefault(path, _Log()))
        lead = max(self._logs.values(), key=lambda log: log.steps, default=_Log())
        since = time.time_ns() - int(LATELY_S * 1e9)
        while lead.lately and lead.lately[0][0] < since:
            lead.lately.popleft()
        steps, compilations, reads = (sum(row[n] for row in lead.lately) for n in (1, 2, 3))
        return Pace(
            lead.steps,
            sum(log.compilations for log in self._logs.values()),
            (steps, compilations, reads),
            lead.last_ns / 1e6 if lead.steps else None,
            median(lead.usual) / 1e6 if lead.usual else None,
        )

    def _follow(self, path: Path, log: _Log) -> None:
        try:
            with open_regular(path, LOG) as file:
                file.seek(log.offset)
                fresh = file.read()
        except OSError:  # gone, or replaced by the program
            return
        whole = fresh[: fresh.rfind(b"\n") + 1]
        log.offset += len(whole)
        log.compilations += whole.count(b'{"event":"compile"')
        for text in whole.splitlines():
            if text.startswith(b'{"event":"step"'):
                self._count(text, log)

    def _count(self, text: bytes, log: _Log) -> None:
        try:
            line = self._decode(text)
        except msgspec.MsgspecError:  # the analysis reports what is wrong
            log.steps += 1
            return
        steps = max(line.steps, 1)
        log.steps += steps
        log.last_ns = line.duration_ns // steps
        if not line.compilations:
            log.usual.append(log.last_ns)
        reads = sum(count for _, _, _, count, *_ in line.reads)
        log.lately.append((line.end_ns, steps, line.compilations, reads))
