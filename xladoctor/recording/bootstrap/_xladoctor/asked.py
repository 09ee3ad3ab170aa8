"""What the launcher asks of the processes of a run while they run, as files in the run directory:
no signal, as those are the program's own.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Sequence

from .files import replace_file

if TYPE_CHECKING:
    from .step import ThreadState

#: To end. It is empty until the launcher knows after which step: when each process has said after
#: which it could (:data:`CAN_STOP`), as processes that wait for each other must end at the same.
STOP = "stop-asked"
#: In the folder of a process: the step after which it could.
CAN_STOP = "can-stop"
#: To end the timeline's window, and to write everything recorded so far.
FLUSH = "flush-asked"
#: In the folder of a process: it has.
FLUSHED = "flushed"
_TOLD_NS = 1_000_000_000  # until each process of a run has said when it can stop, and was told


class Requests:
    """What is asked of a process, which answers each request once."""

    def __init__(self, run: str, folder: str) -> None:
        """``folder``: that of the process in the run directory."""
        self._run = run
        self._folder = folder
        self._can_stop = self._flushes = False

    def stop_after(self, threads: Sequence[ThreadState]) -> int | None:
        """The number of steps after which the process is asked to end, if that is known."""
        file = os.path.join(self._run, STOP)
        if not os.path.exists(file):
            return None
        steps = _whole_number(file)
        if not self._can_stop:
            self._can_stop = True
            ahead = max(map(_ahead, threads), default=0)
            replace_file(os.path.join(self._folder, CAN_STOP), str(ahead))
        return steps

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
    return thread.index + 1 + math.ceil(_TOLD_NS / max(thread.times.typical_ns, 1.0))
