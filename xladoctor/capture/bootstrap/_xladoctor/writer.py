"""The background thread: writes finished lines, bounds the analysis log, ends the window on time.

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
_LOG_LIMIT = 16 << 20  # bytes: some 20,000 executions


class Writer(threading.Thread):
    """Drains ``recorder.lines`` to ``steps.jsonl`` four times a second."""

    def __init__(
        self,
        recorder: Recorder,
        folder: str,
        log: str | None,
        tick: Callable[[], None],
        report: Callable[[], str],
    ) -> None:
        super().__init__(name="xladoctor-writer", daemon=True)
        self._recorder = recorder
        self._folder = folder
        self._log = log
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
                self._rotate()
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
        self.drain()
        self._file.close()
        self.write_metrics()

    def _rotate(self) -> None:
        """Keep of a full log its first part whole, of later parts the compilations alone."""
        if self._log is None or not os.path.exists(self._log):
            return
        size = os.path.getsize(self._log)
        if size < _LOG_LIMIT:
            return
        first = os.path.join(self._folder, "analysis.first.log")
        if not os.path.exists(first):
            os.replace(self._log, first)  # torch_xla opens the file anew for each block
        else:
            part = self._log + ".part"
            os.replace(self._log, part)
            _keep_compilations(part, os.path.join(self._folder, "analysis.later.log"))
            os.remove(part)
        self._recorder.log_base += size


def _keep_compilations(source: str, target: str) -> None:
    with (
        open(source, encoding="utf-8", errors="replace") as text,
        open(target, "a", encoding="utf-8") as kept,
    ):
        kept.writelines(line for line in text if line.startswith("Compilation Analysis"))


def _dump(line: dict[str, Any]) -> str:
    return json.dumps(line, separators=(",", ":")) + "\n"


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
