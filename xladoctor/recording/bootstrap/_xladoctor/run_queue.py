"""Records how long the threads of the loop ran, and how long they waited for a processor.

Linux reports both for each thread, in nanoseconds since its start
(``/proc/self/task/*/schedstat``). Without that, nothing is written.
"""

from __future__ import annotations

import json
import os

from . import clock
from .recorder import Recorder

_SHARE = 1000  # later, a thousandth of the elapsed time, so that the file stays bounded


class RunQueue:
    """Appends to ``processor.jsonl``: thread, instant, and nanoseconds run and waited so far."""

    def __init__(self, recorder: Recorder, folder: str) -> None:
        self._recorder = recorder
        self._path = os.path.join(folder, "processor.jsonl")
        self._began = clock.monotonic()
        self._due = 0.0

    def tick(self) -> None:
        """Called four times a second."""
        now = clock.monotonic()
        if now >= self._due:
            self._due = now + (now - self._began) / _SHARE
            self.write()

    def write(self) -> None:
        """Write a line for each thread that closes steps."""
        loops = [state.id for state in list(self._recorder.threads) if state.index]
        rows = [[thread, clock.time_ns(), *times] for thread in loops if (times := _times(thread))]
        if rows:
            with open(self._path, "a", encoding="ascii") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)


def _times(thread: int) -> list[int] | None:
    """Nanoseconds that a thread ran and waited; None if it has ended or they are not available."""
    try:
        with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
            ran, waited = map(int, file.read().split()[:2])
    except (OSError, ValueError):
        return None
    return [ran, waited]
