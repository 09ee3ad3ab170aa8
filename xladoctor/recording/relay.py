"""Passes on what a program writes to standard error while it compiles; see the bootstrap's
``compiler_output.py``. The program writes to a socket, so what it wrote is read even if it dies.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import socket
import termios
import threading
import time

from xladoctor.recording.bootstrap._xladoctor.compiler_output import VARIABLE, identity, matching

_ERR = 2
_LONGEST = 1 << 20  # bytes of a line that is searched
_PATIENCE_S = 5.0  # for what children of the program still write


class Relay:
    """The launcher's end of the socket. Without one, if it cannot be made, nothing is heard.

    Attributes:
        descriptors: those that the program inherits.
        environment: says which they are.
    """

    def __init__(self) -> None:
        self.descriptors: tuple[int, ...] = ()
        self.environment: dict[str, str] = {}
        self._line = b""
        self._thread = threading.Thread(target=self._run, name="xladoctor-relay", daemon=True)
        with contextlib.suppress(OSError):
            wanted = identity(_ERR)
            self._own, self._theirs = socket.socketpair()
            number = self._theirs.fileno()
            self.descriptors = (number,)
            self.environment = {VARIABLE: f"{number} {identity(number)} {wanted}"}

    def begin(self) -> None:
        """The program has been started."""
        if self.descriptors:
            self._theirs.close()
            self._thread.start()

    def end(self) -> None:
        """The program has ended, or was not started; returns once the rest is passed on."""
        waiting, patience = array.array("i", [1]), time.monotonic() + _PATIENCE_S
        while self._thread.is_alive() and waiting[0] and time.monotonic() < patience:
            fcntl.ioctl(self._own.fileno(), termios.FIONREAD, waiting)
            time.sleep(0.001 * bool(waiting[0]))
        if self.descriptors:
            self._own.shutdown(socket.SHUT_RDWR)
            if self._thread.is_alive():
                self._thread.join(_PATIENCE_S)
            self._own.close()
            self._theirs.close()

    def _run(self) -> None:
        """Take what is written only once it is passed on, which the program can see."""
        with contextlib.suppress(OSError):
            while data := self._own.recv(1 << 16, socket.MSG_PEEK):
                _write(data)
                self._answer(data)
                self._own.recv(len(data))

    def _answer(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-_LONGEST:]
        for line in matching(b"\n".join(lines)):
            with contextlib.suppress(BlockingIOError):
                self._own.send(line + b"\n", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


def _write(data: bytes) -> None:
    """Write to standard error; where nobody reads it any more, the program's would be lost too."""
    with contextlib.suppress(OSError):
        while data:
            try:
                data = data[os.write(_ERR, data) :]
            except BlockingIOError:
                select.select([], [_ERR], [])
