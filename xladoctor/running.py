"""Whether a captured process still runs."""

from __future__ import annotations

import os
from pathlib import Path

#: The environment variable that names the run directory to the processes of a run.
RUN_DIRECTORY = "XLADOCTOR_RUN_DIRECTORY"


def pid_of(folder: Path) -> str:
    """The number of the process of a folder, ``<run>/process-<pid>``; empty for another folder."""
    return folder.name.partition("-")[2].partition("-")[0]


def is_running(folder: Path) -> bool:
    """Whether the process of a folder, ``<run>/process-<pid>``, runs on this machine: by its
    environment, as another program may have its number by now.
    """
    try:
        environment = Path("/proc", pid_of(folder), "environ").read_bytes()
    except (OSError, ValueError):
        return False
    return os.fsencode(f"{RUN_DIRECTORY}={folder.parent.resolve()}") in environment.split(b"\0")
