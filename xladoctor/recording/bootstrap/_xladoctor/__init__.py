"""The part of xladoctor that lives inside the user's process: standard library only.

Nothing here may break, slow down noticeably, or outlive the program that it watches. Whatever
goes wrong is written to ``faults.log`` in the process folder and switches the capture off.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from . import originals

if TYPE_CHECKING:
    from .session import Session

originals.use(__path__)


def install(run_directory: str) -> None:
    """Wait for a framework to be imported; start the capture once it is."""
    from . import start_up
    from .files import announce
    from .import_hook import Capture

    announce(run_directory, "started")
    if "XLADOCTOR_RESULTS" in os.environ:
        from .results import begin

        begin()
    Capture(run_directory).install()
    start_up.watch()


def running() -> list[Session]:
    """The captures of this process, including those that wait for a device to be used."""
    module = sys.modules.get(f"{__name__}.session")
    return list(module.captures) if module else []
