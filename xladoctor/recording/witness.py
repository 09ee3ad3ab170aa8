"""Tells whether a signal was sent to all processes of a job, so that the program has it already."""

from __future__ import annotations

import contextlib
import os
import time

_PATIENCE_S, _LOOK_S = 0.1, 0.005
_COMMAND = "cat"  # ends with its input, and so with us; until then, any signal to all ends it


class Witness:
    """A process beside the program, in the same group and job, that does nothing."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._pid, self._input = 0, -1
        read, write = os.pipe()
        actions = [
            (os.POSIX_SPAWN_DUP2, read, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            self._pid = os.posix_spawnp(
                _COMMAND, [_COMMAND], os.environ, file_actions=actions, setsigmask=()
            )
            self._input = write
        except OSError:  # no such command, or too many processes
            os.close(write)
        finally:
            os.close(read)

    def got(self, number: int) -> bool:
        """Whether it got the signal that we got."""
        ends = time.monotonic() + _PATIENCE_S
        while self._pid:
            ended, status = os.waitpid(self._pid, os.WNOHANG)
            if ended:
                os.close(self._input)
                self._start()
                return os.waitstatus_to_exitcode(status) == -number
            if time.monotonic() >= ends:
                break
            time.sleep(_LOOK_S)
        return False

    def end(self) -> None:
        """End it."""
        if self._pid:
            os.close(self._input)
            with contextlib.suppress(OSError):
                os.waitpid(self._pid, 0)
            self._pid = 0
