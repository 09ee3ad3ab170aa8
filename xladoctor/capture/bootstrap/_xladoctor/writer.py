"""The background thread: writes finished lines, and ends the timeline's window on time.

What it has written survives whatever ends the program; at most a quarter of a second is lost.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Callable

from .recorder import Recorder

_PERIOD_S = 0.25
_METRICS_EVERY = 20  # periods
_LAST_TICK_S = 1.0
_encode = json.JSONEncoder(separators=(",", ":")).encode


class Writer(threading.Thread):
    """Drains ``recorder.lines`` to ``steps.jsonl`` four times a second."""

    def __init__(
        self,
        recorder: Recorder,
        folder: str,
        tick: Callable[[], None],
        report: Callable[[], str],
    ) -> None:
        super().__init__(name="xladoctor-writer", daemon=True)
        self._recorder = recorder
        self._folder = folder
        self._tick = tick
        self._report = report
        self._stop_requested = threading.Event()
        self._drain_lock = threading.Lock()
        self._file = open(os.path.join(folder, "steps.jsonl"), "a", encoding="utf-8")

    def run(self) -> None:
        periods = 0
        while not self._stop_requested.wait(_PERIOD_S):
            periods += 1
            try:
                self._tick()
                self.drain()
                if periods % _METRICS_EVERY == 0:
                    self.write_metrics()
            except Exception as fault:
                note_fault(self._folder, fault)
                return

    def drain(self) -> None:
        with self._drain_lock:
            lines, count = self._recorder.lines, len(self._recorder.lines)
            if count:
                self._file.writelines(_dump(line) for line in lines[:count])
                self._file.flush()
                del lines[:count]

    def write_metrics(self) -> None:
        replace_file(os.path.join(self._folder, "metrics.txt"), self._report())

    def finish(self) -> None:
        self._stop_requested.set()
        if self.is_alive():
            self.join(_LAST_TICK_S)  # so that no file is written by both
        self.drain()
        self._file.close()
        self.write_metrics()


def _dump(line: dict[str, Any]) -> str:
    return _encode(line) + "\n"


def replace_file(path: str, text: str) -> None:
    """Write a whole file so that a reader sees the old or the new text, never a part."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def note_fault(folder: str, fault: BaseException) -> None:
    """Record a fault of the capture itself; the diagnosis reports it."""
    import traceback

    try:
        with open(os.path.join(folder, "faults.log"), "a", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(type(fault), fault, fault.__traceback__)))
    except OSError:
        pass  # nowhere left to write: the user's program goes on undisturbed
