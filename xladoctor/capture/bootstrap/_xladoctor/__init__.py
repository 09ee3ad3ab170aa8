"""The part of xladoctor that lives inside the user's process: standard library only.

Nothing here may break, slow down noticeably, or outlive the program that it watches. Whatever
goes wrong is written to ``faults.log`` in the process folder and switches the capture off.
"""

from __future__ import annotations


def install(run_directory: str) -> None:
    """Wait for ``torch_xla`` to be imported; start the capture once it is."""
    from . import import_hook
    from .files import announce

    announce(run_directory, "started")
    import_hook.install(run_directory)
