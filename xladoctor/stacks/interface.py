"""The stacks of a running process, and what they say: the types that pass between the stages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from xladoctor.errors import XladoctorError


class StacksError(XladoctorError):
    """The stacks of a process cannot be read."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a stack.

    Attributes:
        function: the qualified name; of native code as its symbol, or its address without one.
        file: the source file, or the library of native code.
        line: from 1; 0 for native code.
        native: whether it is code of a library and not Python.
    """

    function: str
    file: str
    line: int = 0
    native: bool = False


@dataclass(frozen=True, slots=True)
class SystemCall:
    """What a thread asked the kernel for, and waits for.

    Attributes:
        name: as ``futex`` or ``read``.
        target: what a read or similar call waits for: the file, ``pipe:[…]`` or ``socket:[…]``.
        pid: the process that a ``wait4`` waits for; None for any.
        private: of a futex: only threads of the same process can end the wait.
        timed: of a futex: the wait ends by itself.
    """

    name: str
    target: str = ""
    pid: int | None = None
    private: bool = False
    timed: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A Python thread.

    Attributes:
        id: the kernel's number, as in ``top -H``.
        name: as of ``threading.Thread``.
        running: whether it was on a processor, or ready for one.
        holds_gil: whether it held the interpreter.
        frames: innermost first.
        call: what it waits for in the kernel; None where it runs or that is not known.
    """

    id: int
    name: str
    running: bool
    holds_gil: bool
    frames: tuple[Frame, ...]
    call: SystemCall | None = None

    @property
    def own(self) -> bool:
        """Whether it belongs to the capture of ``xladoctor run``."""
        return self.name.startswith("xladoctor-") or any(
            frame.file.endswith("/_xladoctor/background.py") for frame in self.frames
        )


@dataclass(frozen=True, slots=True)
class Child:
    """A child process; ``state`` as in ``ps``, ``Z`` for one that has ended."""

    pid: int
    state: str
    command: str


@dataclass(frozen=True, slots=True)
class Stacks:
    """All Python threads of a process at one moment.

    Attributes:
        command: the command line.
        state: as in ``ps``: ``R``, ``S``, ``D``, ``T``.
        forked: whether the process was forked and has not started another program since.
        tasks: all threads, with those that never ran Python.
        threads: the main thread first.
        children: its child processes.
        native: whether the frames include native ones.
        notes: what is missing here, and why.
    """

    pid: int
    command: str
    state: str
    forked: bool
    tasks: int
    threads: tuple[Thread, ...]
    children: tuple[Child, ...] = ()
    native: bool = False
    notes: tuple[str, ...] = ()


class Kind(StrEnum):
    """What a thread does."""

    collective = "collective"
    compiling = "compiling"
    device = "device"
    transfer = "transfer"
    data = "data"
    deadlock = "deadlock"
    lock = "lock"
    waiting = "waiting"
    sleep = "sleep"
    input = "input"
    python = "python"
    native = "native"
    idle = "idle"
    stopped = "stopped"
    unknown = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a thread or a process does, and at which line of the user.

    Attributes:
        text: a phrase that follows the thread's name: ``sleeps``.
        frame: the user's line; that of a library where there is none; None without either.
        sure: whether frames or kernel say so; else it is read from the text of the line.
        hints: what to do next.
    """

    kind: Kind
    text: str
    frame: Frame | None = None
    sure: bool = True
    hints: tuple[str, ...] = ()
