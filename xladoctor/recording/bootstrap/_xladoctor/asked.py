"""What the launcher asks of the processes of a run while they run, as files in the run directory:
no signal, as those are the program's own.
"""

from __future__ import annotations

import os

#: To end at the next step.
STOP = "stop-asked"
#: To end the timeline's window, and to write everything recorded so far.
FLUSH = "flush-asked"
#: In the folder of a process: it has.
FLUSHED = "flushed"


def asked(run: str, what: str) -> bool:
    """Whether the launcher has asked for it."""
    return os.path.exists(os.path.join(run, what))


def flushed(folder: str) -> None:
    """Tell the launcher that everything is written."""
    with open(os.path.join(folder, FLUSHED), "wb"):
        pass
