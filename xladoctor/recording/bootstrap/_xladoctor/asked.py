"""What the launcher asks of the processes of a run while they run, as files in the run directory:
no signal, as those are the program's own.
"""

from __future__ import annotations

import math
import os
import sys
import time
from typing import TYPE_CHECKING, Sequence

from .files import replace_file

if TYPE_CHECKING:
    from .step import ThreadState

#: To end: after the step that it names, or as soon as possible if that is 0. It is empty until each
#: process has said after which step it could end (:data:`CAN_STOP`): processes that wait for each
#: other must end at the same.
STOP = "stop-asked"
#: In the folder of a process: the step after which it could.
CAN_STOP = "can-stop"
#: To end the timeline's window, and to write everything recorded so far.
FLUSH = "flush-asked"
#: In the folder of a process: it has.
FLUSHED = "flushed"
_TOLD_NS = 1_000_000_000  # until each process of a run has said when it can stop, and was told
_LOOK_S = 0.02
_PATIENCE_S = 10.0  # for an answer that is late, as on a machine with much to do


class Requests:
    """What is asked of a process, which answers each request once."""

    def __init__(self, run: str, folder: str) -> None:
        """``folder``: that of the process in the run directory."""
        self._run = run
        self._folder = folder
        self._flushes = False
        self._can_stop: int | None = None
        self._last: int | None = None

    def listen(self, threads: Sequence[ThreadState]) -> None:
        """Find out whether the process is asked to end, and after which step."""
        file = os.path.join(self._run, STOP)
        if self._last is not None or not os.path.exists(file):
            return
        self._last = _whole_number(file)
        if self._last is None and self._can_stop is None:
            self._can_stop = max(map(_ahead, threads), default=1)
            replace_file(os.path.join(self._folder, CAN_STOP), str(self._can_stop))

    @property
    def stops_anywhere(self) -> bool:
        """Whether the process is asked to end, and no other has to end at the same step."""
        return self._last == 0

    def stop_after(self, steps: int) -> bool:
        """Whether a thread that has ended so many steps ends the program.

        It waits for the answer at the step after which it could: the others may agree on that one.
        """
        if self._last is None and self._can_stop is not None and steps >= self._can_stop:
            self._wait()
        return self._last is not None and self._last <= steps

    def _wait(self) -> None:
        file, ends = os.path.join(self._run, STOP), time.monotonic() + _PATIENCE_S
        while (last := _whole_number(file)) is None and time.monotonic() < ends:
            time.sleep(_LOOK_S)
        if last is None:  # the launcher has gone
            self._can_stop = sys.maxsize
        self._last = last

    def flush(self) -> bool:
        """Whether everything is asked for, for the first time."""
        if self._flushes or not os.path.exists(os.path.join(self._run, FLUSH)):
            return False
        self._flushes = True
        return True

    def flushed(self) -> None:
        """Tell the launcher that everything is written."""
        with open(os.path.join(self._folder, FLUSHED), "wb"):
            pass


def _whole_number(file: str) -> int | None:
    try:
        with open(file, "rb") as opened:
            return int(opened.read())
    except (OSError, ValueError):
        return None


def _ahead(thread: ThreadState) -> int:
    """The step that a thread will hardly have ended when it hears which is the last."""
    typical_ns = thread.times.typical_ns  # 0 until it is known
    return thread.index + 1 + (math.ceil(_TOLD_NS / typical_ns) if typical_ns else 0)
