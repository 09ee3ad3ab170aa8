"""The background thread, which writes what was recorded and ends the timeline's window on time.

What is written survives however the program ends; at most a quarter of a second is lost, and half a
second of the compilations that no timed call has made.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Callable

from .background import Background
from .files import replace_file
from .recorder import Recorder
from .step import Step

_PERIOD_S = 0.25
_METRICS_EVERY = 20  # periods
_LAST_TICK_S = 1.0
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Writer:
    """Drains ``recorder.lines`` to ``steps.jsonl`` four times a second."""

    def __init__(
        self,
        recorder: Recorder,
        folder: str,
        tick: Callable[[], None],
        report: Callable[[], str] | None,
        fail: Callable[[Exception], None],
    ) -> None:
        self.thread = Background(self._run)
        self._recorder = recorder
        self._folder = folder
        self._tick = tick
        self._report = report
        self._fail = fail
        self._stop_requested = threading.Event()
        self._drain_lock = threading.Lock()
        self._path = os.path.join(folder, "steps.jsonl")
        self._append(b"")

    def _run(self) -> None:
        periods = 0
        while not self._stop_requested.wait(_PERIOD_S) and not self._recorder.off:
            periods += 1
            try:
                self._tick()
                self.drain()
                if periods % _METRICS_EVERY == 0:
                    self.write_metrics()
                    self._recorder.log.rotate()
            except Exception as fault:
                self._fail(fault)
                return

    def drain(self) -> None:
        with self._drain_lock:
            lines, count = self._recorder.lines, len(self._recorder.lines)
            if count:
                data = "".join(map(_dump, lines[:count])).encode()
                del lines[:count]  # first: lines written in part must not be written again
                self._append(data)

    def _append(self, data: bytes) -> None:
        """Append, opening the file each time: programs close descriptors that are not theirs."""
        with open(self._path, "ab") as file:
            file.write(data)

    def write_metrics(self) -> None:
        if self._report is not None:
            replace_file(os.path.join(self._folder, "metrics.txt"), self._report())

    def stop(self) -> None:
        """End the thread, so that no two threads write the same file."""
        self._stop_requested.set()
        self.thread.ended(_LAST_TICK_S)

    def close(self) -> None:
        """Write what is left, unless the thread hangs in a write of its own."""
        if self.thread.ended():
            self.drain()
            self.write_metrics()


def _dump(line: dict[str, Any] | Step) -> str:
    return _encode(line if isinstance(line, dict) else line.line()) + "\n"
