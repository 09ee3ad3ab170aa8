"""Holds back a signal that would end the process at once, until what was recorded is written.

A batch system sends SIGTERM to every process of a job. No handler of Python's would do: it waits
until the main thread has left a compilation, and a program that asks would find a handler that is
not its own. :mod:`faulthandler` has one that runs at any time, and that Python does not know of. A
handler that the program installs replaces it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os

#: As the launcher finds them in ``/proc/<pid>/fd``; each holds something once its signal came.
PREFIX = "xladoctor-held-"
_NAMES = ("SIGTERM", "SIGHUP")


class _Held:
    """A signal that is held back: its handler writes a traceback into a file in memory."""

    def __init__(self, name: str) -> None:
        import signal  # by now the framework has imported it

        self._signal = signal
        self.number: int = getattr(signal, name)
        self._file = os.memfd_create(PREFIX + name)
        self._inode = os.fstat(self._file).st_ino
        faulthandler.register(self.number, self._file, all_threads=False)

    @property
    def came(self) -> bool:
        """Whether the process got the signal. Raises OSError if the program closed the file."""
        status = os.fstat(self._file)
        if status.st_ino != self._inode:
            raise OSError
        return status.st_size > 0

    def release(self) -> None:
        """Let the signal do what it does by default, unless the program handles it by now."""
        if self._signal.getsignal(self.number) == self._signal.SIG_DFL:
            faulthandler.unregister(self.number)
        with contextlib.suppress(OSError):
            if os.fstat(self._file).st_ino == self._inode:
                os.close(self._file)


_held: dict[str, _Held] = {}


def hold() -> None:
    """Hold back the signals that end this process, from now on."""
    if not hasattr(os, "memfd_create"):
        return
    handled = _handled()
    for name in _NAMES:
        if name not in _held and name not in handled:
            with contextlib.suppress(OSError):  # too many files are open
                _held[name] = _Held(name)


def release() -> None:
    """Hold nothing back any more. A signal that came meanwhile ends the process now."""
    came = None
    while _held:
        _, held = _held.popitem()
        with contextlib.suppress(OSError):
            came = held.number if held.came else came
        held.release()
    if came is not None:
        os.kill(os.getpid(), came)


def forget() -> None:
    """Hold nothing back in a forked child, which has no part in what its parent got."""
    while _held:
        _held.popitem()[1].release()


def is_due() -> bool:
    """Whether a signal that is held back came. Begins anew where the program closed the file."""
    try:
        came = [held.came for held in _held.values()]
    except OSError:
        forget()
        hold()
        return False
    return any(came)


def _handled() -> set[str]:
    """The signals that the program catches, ignores or blocks."""
    import signal

    try:
        with open("/proc/self/status", "rb") as file:
            rows = dict(line.split(b":", 1) for line in file if line.startswith(b"Sig"))
        mask = 0
        for row in (b"SigCgt", b"SigIgn", b"SigBlk"):
            mask |= int(rows[row], 16)
    except (OSError, ValueError, KeyError):
        return set(_NAMES)
    return {name for name in _NAMES if mask >> (getattr(signal, name) - 1) & 1}
