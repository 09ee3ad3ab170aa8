"""What a compiler writes to standard error while it compiles: descriptor 2, which Python's
``sys.stderr`` does not see.

If that is a regular file, what was added to it is read back. If it is a terminal, a pipe or the
like, the descriptor is, for as long as the compilation lasts, a socket to the launcher, which
passes on each byte to where the program would have written it, and answers with the lines that
matter (``xladoctor/recording/relay.py``). The launcher, a process of its own, never waits for this
one, and passes on the rest if this one dies. A child that is started meanwhile gets the program's
own descriptor.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import stat
import struct
import sys
import termios
import threading
from typing import Any

from . import clock
from .redaction import redact_text

VARIABLE = "XLADOCTOR_RELAY"
#: Begins what the partitioner says of a tensor that it copies in full.
MARK = b"Involuntary full rematerialization"
_ERR = 2
_HEAD, _TAIL = 4096, 4096  # bytes of a line that are kept: a tuple's type may be long
_MOST_READ = 1 << 22  # bytes of a file; what floods it says nothing more
_PATIENCE_NS, _MOMENT_S = 200_000_000, 2e-4
_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.system", "os.exec", "pty.spawn"})
_UNHEARD = "standard error was neither a file nor that of `xladoctor run` while graphs compiled"


def matching(data: bytes) -> list[bytes]:
    """The lines that matter, cut in the middle if they are long."""
    if MARK not in data:
        return []
    found = [line for line in data.split(b"\n") if MARK in line]
    return [
        line if len(line) <= _HEAD + _TAIL else line[:_HEAD] + b" ... " + line[-_TAIL:]
        for line in found
    ]


def identity(descriptor: int) -> str:
    """What tells files apart, as the launcher and its child see them."""
    status = os.fstat(descriptor)
    return f"{status.st_dev}.{status.st_ino}.{status.st_rdev}"


class CompilerOutput:
    """Listens while graphs that are partitioned compile.

    Attributes:
        unheard: why not everything was heard; empty if it was.
    """

    def __init__(self) -> None:
        self.unheard = ""
        self._lock = threading.Lock()
        self._began: int | None = None  # size of the file
        self._own: int | None = None  # the program's descriptor, while another is in its place
        self._relay: socket.socket | None = None
        self._hooked = False

    def begin(self) -> None:
        """A compilation begins; the next :meth:`end` returns what was written since."""
        level = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0")
        if level.isdigit() and int(level) > 1:
            self.unheard = f"TF_CPP_MIN_LOG_LEVEL={level} silences the compiler's warnings"
        with self._lock:
            if self._own is not None or self._began is not None:  # another thread compiles
                return
            try:
                status = os.fstat(_ERR)
                if stat.S_ISREG(status.st_mode):
                    self._began = status.st_size
                elif not self._open():
                    self.unheard = self.unheard or _UNHEARD
            except OSError:  # closed
                self.unheard = self.unheard or _UNHEARD

    def _open(self) -> bool:
        relay, wanted = _relay()
        if relay is None or identity(_ERR) != wanted:
            return False
        if not self._hooked:
            self._hooked = True
            os.register_at_fork(after_in_child=self._forked)
            sys.addaudithook(self._starting)
        _answers(relay)
        self._relay = relay
        self._own = fcntl.fcntl(_ERR, fcntl.F_DUPFD_CLOEXEC, _ERR + 1)
        os.dup2(relay.fileno(), _ERR)
        return True

    def end(self) -> dict[str, int]:
        """The compilation has ended: the lines that matter, each with how often it was written."""
        with self._lock:
            began, self._began = self._began, None
            relay, self._relay = self._relay, None
            self._restore()
        try:
            lines = _added(began) if began is not None else _answers(relay) if relay else []
        except OSError:
            self.unheard = self.unheard or _UNHEARD
            return {}
        said: dict[str, int] = {}
        for line in lines:
            text = redact_text(line[line.index(MARK) :].decode(errors="replace"))
            said[text] = said.get(text, 0) + 1
        return said

    def loaded(self) -> None:
        """What was compiled was loaded, so the compiler has said nothing."""
        self.unheard = self.unheard or "graphs came from the cache, so nothing was partitioned"

    def _restore(self) -> None:
        own, self._own = self._own, None
        if own is None:
            return
        if self._relay is None or identity(_ERR) == identity(self._relay.fileno()):
            os.dup2(own, _ERR)  # unless the program has put another in its place
        os.close(own)

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._restore()
        self._began = self._relay = None

    def _starting(self, event: str, _: Any) -> None:
        """Called at each audit event: a child would keep the socket longer than it is read."""
        if event in _STARTS and self._own is not None:
            with self._lock:
                self._restore()


def _relay() -> tuple[socket.socket | None, str]:
    """The socket to the launcher, if there is one, and the identity of its standard error."""
    number, own, wanted = [*os.environ.get(VARIABLE, "").split(), "", "", ""][:3]
    if not number or identity(int(number)) != own:
        return None, ""
    os.set_inheritable(int(number), False)
    poll = select.poll()
    poll.register(int(number), select.POLLIN)
    if any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0)):
        return None, ""  # the launcher was killed
    return _kept.setdefault(own, socket.socket(fileno=os.dup(int(number)))), wanted


_kept: dict[str, socket.socket] = {}


def _added(began: int) -> list[bytes]:
    with open(f"/proc/self/fd/{_ERR}", "rb") as file:
        file.seek(began)
        return matching(file.read(_MOST_READ))


def _answers(relay: socket.socket) -> list[bytes]:
    """What the launcher answers, once it has passed on everything."""
    patience, waiting = clock.perf_counter_ns() + _PATIENCE_NS, b"\1"
    while any(waiting) and clock.perf_counter_ns() < patience:
        waiting = fcntl.ioctl(relay.fileno(), termios.TIOCOUTQ, struct.pack("i", 0))
        clock.sleep(_MOMENT_S * any(waiting))
    data = b""
    try:
        while more := relay.recv(1 << 16, socket.MSG_DONTWAIT):
            data += more
    except BlockingIOError:
        pass
    return matching(data)
