"""Reads processes and their threads from Linux's /proc; proc(5) describes the files."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xladoctor.recording.bootstrap._xladoctor.redaction import redact
from xladoctor.stacks.interface import Child, SystemCall
from xladoctor.stacks.patterns import patterns

_PROC = Path("/proc")
_FORKED = 0x40  # PF_FORKNOEXEC of the kernel's sched.h
_FUTEX_PRIVATE = 0x80  # linux/futex.h


@dataclass(frozen=True, slots=True)
class Process:
    """A process as /proc shows it to everybody.

    Attributes:
        state: ``R``, ``S``, ``D``, ``T``, ``t``, ``Z``, … as in ``ps``.
        user: the number of its (effective) user.
        tracer: the process that traces it already, or 0.
    """

    pid: int
    state: str
    parent: int
    user: int
    tracer: int
    tasks: int
    forked: bool
    command: str


def process(pid: int) -> Process | None:
    """The process with this number; None if there is none."""
    folder = _PROC / str(pid)
    try:
        stat = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        lines = (folder / "status").read_text(errors="replace").splitlines()
        command = (folder / "cmdline").read_bytes()
    except OSError:
        return None
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    words = " ".join(redact(command.decode(errors="replace").rstrip("\0").split("\0")))
    return Process(
        pid,
        stat[0],
        int(stat[1]),
        int(status["Uid"][1]),
        int(status["TracerPid"][0]),
        int(stat[17]),
        bool(int(stat[6]) & _FORKED),
        words or f"[{status['Name'][0]}]",
    )


def is_python(pid: int) -> bool | None:
    """Whether a process runs a Python interpreter; None without permission to see it."""
    folder = _PROC / str(pid)
    try:
        if (folder / "exe").readlink().name.startswith("python"):
            return True
        return "/libpython" in (folder / "maps").read_text(errors="replace")
    except OSError:
        return None


def parents() -> dict[int, int]:
    """The parent of each process that runs now."""
    known = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                stat = (folder / "stat").read_text(errors="replace")
                known[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    return known


def children(pid: int) -> tuple[Child, ...]:
    """The child processes, with those that have ended and were not waited for."""
    processes = (process(child) for child, parent in sorted(parents().items()) if parent == pid)
    return tuple(Child(each.pid, each.state, each.command) for each in processes if each)


def tree(pid: int) -> list[int]:
    """The process and all below it, each before its children."""
    known = parents()

    def below(parent: int) -> Iterator[int]:
        yield parent
        for child in sorted(known):
            if known[child] == parent:
                yield from below(child)

    return list(below(pid))


def tasks(pid: int) -> list[int]:
    """The numbers of all its threads."""
    try:
        return sorted(int(task.name) for task in (_PROC / str(pid) / "task").iterdir())
    except OSError:
        return []


def system_call(pid: int, task: int) -> SystemCall | None:
    """What a thread waits for in the kernel; None if it runs, or without permission to see it."""
    folder = _PROC / str(pid) / "task" / str(task)
    try:
        words = (folder / "syscall").read_text().split()
        number, arguments = int(words[0]), [int(word, 16) for word in words[1:7]]
    except (OSError, ValueError, IndexError):  # it runs, has ended, or belongs to another user
        return None
    known, machine = patterns().calls, platform.machine()
    name = next((each for each in known if getattr(known[each], machine, None) == number), None)
    if name in ("select", "pselect6") and arguments[0] == 0:
        return SystemCall("clock_nanosleep")  # select without files: sleep before Python 3.11
    if name == "futex":
        return SystemCall(
            name, private=bool(arguments[1] & _FUTEX_PRIVATE), timed=arguments[3] != 0
        )
    if name in ("wait4", "waitid"):
        return SystemCall(name, pid=_waited_for(name, arguments))
    if name and known[name].of_a_file:
        return SystemCall(name, target=_target(pid, arguments[0]))
    return SystemCall(name) if name else None


def _waited_for(name: str, arguments: list[int]) -> int | None:
    """The child of ``wait4(pid, …)``, ``waitid(P_PID, pid, …)``; negative numbers are any."""
    number = arguments[0] if name == "wait4" else arguments[1] * (arguments[0] == 1)
    number &= 0xFFFF_FFFF
    return number if 0 < number < 1 << 31 else None


def _target(pid: int, descriptor: int) -> str:
    try:
        return str((_PROC / str(pid) / "fd" / str(descriptor)).readlink())
    except OSError:
        return ""
