"""What the launcher asks of the processes of a run while they run, as files in the run directory:
no signal, as those are the program's own.
"""

from __future__ import annotations

import os

from .files import replace_file

#: To end. It is empty until the launcher knows after which step: when each process has said after
#: which it could (:data:`CAN_STOP`), as processes that wait for each other must end at the same.
STOP = "stop-asked"
#: In the folder of a process: the step after which it could.
CAN_STOP = "can-stop"
#: To end the timeline's window, and to write everything recorded so far.
FLUSH = "flush-asked"
#: In the folder of a process: it has.
FLUSHED = "flushed"


def asked(run: str, what: str) -> bool:
    """Whether the launcher has asked for it."""
    return os.path.exists(os.path.join(run, what))


def stops_after(run: str) -> int | None:
    """The number of steps after which the launcher has asked the process to end, if it has."""
    try:
        with open(os.path.join(run, STOP), "rb") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def can_stop(folder: str, step: int) -> None:
    """Tell the launcher after how many steps the process could end."""
    replace_file(os.path.join(folder, CAN_STOP), str(step))


def flushed(folder: str) -> None:
    """Tell the launcher that everything is written."""
    with open(os.path.join(folder, FLUSHED), "wb"):
        pass
