"""The part of xladoctor that lives inside the user's process: standard library only.

Nothing here may break, slow down noticeably, or outlive the program that it watches. Whatever
goes wrong is written to ``faults.log`` in the process folder and switches the capture off.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .options import Options
    from .session import Session


def install(run_directory: str) -> None:
    """Wait for a framework to be imported; start the capture once it is."""
    from . import import_hook
    from .files import announce

    announce(run_directory, "started")
    import_hook.install(run_directory)


def installed() -> str | None:
    """The first framework, by the name of its module, that this interpreter could import."""
    from importlib.util import find_spec

    from .frontend import FRONTENDS

    return next((name for name in FRONTENDS if find_spec(name) is not None), None)


def start(run_directory: str, framework: str, options: Options | None = None) -> Session:
    """Capture this process from now on; imports the framework if the program has not.

    Args:
        run_directory: where its folder is made as soon as it uses a device.
        framework: as :func:`installed` returns it.
        options: those of ``XLADOCTOR_OPTIONS`` unless given.

    Raises:
        RuntimeError: the capture had a fault, which ``python.log`` tells.
    """
    from importlib import import_module

    from .session import Session
    from .settings import SettingsWatch

    watch = SettingsWatch()
    watch.install()
    session = Session(run_directory, framework, watch, options)
    session.start(import_module(framework))
    if session not in running():
        watch.uninstall()
        raise RuntimeError("the capture could not start")
    return session


def running() -> list[Session]:
    """The captures of this process, including those that wait for a device to be used."""
    module = sys.modules.get(f"{__name__}.session")
    return list(module.captures) if module else []
