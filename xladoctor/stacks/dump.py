"""Reads the stacks of a running process with py-spy, run as a program of its own.

py-spy (https://github.com/benfred/py-spy) stops the process for some hundredths of a second, and
reads its memory. What each thread waits for in the kernel comes from /proc.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from xladoctor.stacks import permission
from xladoctor.stacks.interface import Frame, Stacks, StacksError, SystemCall, Thread
from xladoctor.stacks.process import Process, children, is_python, process, system_call, tasks, tree

LIMIT_S = 30  # for py-spy: with native frames it reads the symbols of all libraries, some 4 s
_REFUSED = ("permission denied", "operation not permitted")
_NO_NATIVE = "no native frames: this py-spy cannot read them here (py-spy dump --help)"
_STOPPED = "no native frames: the process is stopped"


def dump(pid: int, native: bool = False) -> Stacks:
    """The stacks of one process as they are now.

    Args:
        pid: the number of a process that runs Python.
        native: with the frames of C++ and C; where that is impossible, a note says so.

    Raises:
        StacksError: there is no such process, it is not a Python process, it may not be traced, or
            py-spy is missing, does not know this Python, or took longer than 30 s.
    """
    target = _running(pid)
    program = _program()
    calls = {task: system_call(pid, task) for task in tasks(pid)}
    stopped = target.state == "T"
    notes = [_STOPPED] if native and stopped else []
    text, native = _printed(program, target, native and not stopped, notes)
    threads = [_thread(record, pid, calls) for record in json.loads(text)]
    threads.sort(key=lambda thread: (thread.id != pid, thread.id))
    return Stacks(
        pid,
        target.command,
        target.state,
        target.forked,
        target.tasks,
        tuple(threads),
        children(pid),
        native,
        tuple(notes),
    )


def dump_tree(pid: int, native: bool = False) -> list[Stacks | StacksError]:
    """The stacks of a process and of all Python processes below it, parents first.

    A child whose stacks cannot be read has its error in the list.

    Raises:
        StacksError: as :func:`dump`, for ``pid``; a process that is not Python may be above
            those that are, as a shell script is.
    """
    _running(pid)
    below = [each for each in tree(pid)[1:] if is_python(each)]
    if is_python(pid) is False and below:
        return [_tried(each, native) for each in below]
    return [dump(pid, native), *(_tried(each, native) for each in below if process(each))]


def _tried(pid: int, native: bool) -> Stacks | StacksError:
    try:
        return dump(pid, native)
    except StacksError as error:
        return error


def _running(pid: int) -> Process:
    target = process(pid)
    if target is None and not Path("/proc/self/stat").exists():
        raise StacksError(
            "stacks can be read on Linux only", "run xladoctor where the process runs"
        )
    if target is None:
        raise StacksError(
            f"there is no process {pid}",
            "list the Python processes with: pgrep -af python\n"
            "a process in a container has a different id there: run xladoctor in the container",
        )
    if target.state == "Z":
        raise StacksError(
            f"process {pid} has ended, but its parent {target.parent} has not waited for it",
            f"look at the parent instead: xladoctor stacks {target.parent}",
        )
    return target


def _program() -> str:
    beside = Path(sys.executable).with_name("py-spy")
    program = str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy")
    if program is None:
        raise StacksError(
            f"py-spy is neither next to {sys.executable} nor on PATH",
            f"install it: {sys.executable} -m pip install py-spy",
        )
    return program


def _printed(program: str, target: Process, native: bool, notes: list[str]) -> tuple[str, bool]:
    """What py-spy prints, and whether with native frames."""
    if native:
        done = _run(program, target, "--native")
        if done.returncode == 0:
            return done.stdout, True
        if "native" not in done.stderr:
            raise _explained(program, target, done.stderr)
        notes.append(_NO_NATIVE)
    # py-spy cannot stop what is stopped already; such memory does not change while it is read.
    done = _run(program, target, *["--nonblocking"] * (target.state == "T"))
    if done.returncode != 0:
        raise _explained(program, target, done.stderr)
    return done.stdout, False


def _run(program: str, target: Process, *words: str) -> subprocess.CompletedProcess[str]:
    command = [program, "dump", "--json", "--full-filenames", "--pid", str(target.pid), *words]
    try:
        return subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        _resume(target)
        raise _late(target) from None
    except OSError as error:
        raise StacksError(f"cannot run {program}: {error.strerror}") from error


def _resume(target: Process) -> None:
    """Undo an attachment that did not come about: its SIGSTOP would stop the process for good."""
    if target.state != "T":
        try:
            os.kill(target.pid, signal.SIGCONT)
        except OSError:  # it has ended
            return


def _late(target: Process) -> StacksError:
    now = process(target.pid)
    if now is not None and now.state == "D":
        return StacksError(
            f"process {target.pid} is in uninterruptible sleep (state D): it cannot be stopped"
            " to read its stacks",
            "it is waiting in the kernel, usually for a network file system or a device driver:\n"
            f"sudo cat /proc/{target.pid}/stack shows where",
        )
    return StacksError(
        f"py-spy did not return the stacks of process {target.pid} within {LIMIT_S} s",
        "try again without --native, or when the machine is less busy",
    )


def _explained(program: str, target: Process, said: str) -> StacksError:
    now = process(target.pid)
    if now is None or now.state == "Z":
        return StacksError(f"process {target.pid} has ended")
    if any(words in said.lower() for words in _REFUSED):
        return permission.refused(now, permission.rights())
    if is_python(target.pid) is False:
        return StacksError(
            f"process {target.pid} is not a Python process: {target.command}",
            "list the Python processes with: pgrep -af python",
        )
    first = next((line for line in said.splitlines() if line.strip()), "no reason given")
    return StacksError(
        f"{_version(program)} cannot read process {target.pid}: {first.removeprefix('Error: ')}",
        "a process that has just started needs a moment; otherwise this py-spy may be too old for"
        f" its Python:\n{sys.executable} -m pip install --upgrade py-spy",
    )


def _version(program: str) -> str:
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    return done.stdout.strip() or "py-spy"


def _thread(record: dict[str, Any], pid: int, calls: dict[int, SystemCall | None]) -> Thread:
    """A thread of py-spy's JSON (its src/stack_trace.rs has the fields)."""
    frames = tuple(_frame(frame) for frame in record["frames"])
    number, running = record["os_thread_id"] or 0, record["active"]
    # A program that has not imported threading has no names.
    name = record["thread_name"] or ("MainThread" if number == pid else f"thread {number}")
    call = None if running else calls.get(number)
    return Thread(number, name, running, record["owns_gil"], frames, call)


def _frame(record: dict[str, Any]) -> Frame:
    native = record["module"] is not None
    return Frame(record["name"], record["filename"], 0 if native else record["line"], native)
