"""Whether a captured process still runs."""

from __future__ import annotations

import os
from pathlib import Path

#: The environment variable that names the run directory to the processes of a run.
RUN_DIRECTORY = "XLADOCTOR_RUN_DIRECTORY"


def is_running(folder: Path) -> bool:
    """Whether the process of a folder, ``<run>/process-<pid>``, runs on this machine: by its
    environment, as another program may have its number by now.
    """
    try:
        environment = Path("/proc", folder.name.split("-")[1], "environ").read_bytes()
    except (OSError, IndexError, ValueError):
        return False
    return os.fsencode(f"{RUN_DIRECTORY}={folder.parent.resolve()}") in environment.split(b"\0")
