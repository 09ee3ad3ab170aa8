"""Runs a command and ends whatever it started: a script of the standard library alone.

It is the parent that orphans get, so that also a process with a session of its own is ended: with
the command, at SIGTERM, or when the process that tries patches dies, of which it then removes the
folder. Where mounts are named, the command alone sees them.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

#: Exit status where the system does not allow to mount.
NOT_ALLOWED = 125
_USERS, _MOUNTS = 0x10000000, 0x20000  # CLONE_NEWUSER, CLONE_NEWNS
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_KEPT, _RELATIVE_TIMES = 0xC0F, 1 << 21  # flags of a mount, as statvfs has them; MS_RELATIME
_DEATH_SIGNAL, _SUBREAPER = 1, 36
_PATIENCE_S = ((signal.SIGTERM, 2.0), (signal.SIGKILL, 10.0))
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _mount(source: str, target: str, flags: int) -> None:
    names = (os.fsencode(source), os.fsencode(target))
    _checked(_libc.mount(*names, None, ctypes.c_ulong(flags), None), target)


def _enclose(mounts: list[tuple[str, str, bool]]) -> None:
    """Mount each source on its target, some read-only, for this process and its children alone.

    Raises:
        OSError: the system does not allow it.
    """
    user, group = os.getuid(), os.getgid()
    if user or _libc.unshare(_MOUNTS):
        _checked(_libc.unshare(_USERS | _MOUNTS), "unshare")
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            Path("/proc/self", name).write_text(text, encoding="ascii")
    _mount("none", "/", _RECURSIVE | _PRIVATE)
    for source, target, read_only in mounts:
        _mount(source, target, _BIND | _RECURSIVE)
        if read_only:
            found = os.statvfs(target).f_flag
            flags = found & _KEPT | _RELATIVE_TIMES * bool(found & os.ST_RELATIME)
            _mount("none", target, _REMOUNT | _BIND | _READ_ONLY | flags)


def _descendants() -> list[int]:
    """The processes below this one."""
    parents = dict[int, int]()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):  # it has ended, or is no process
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            parents[int(entry.name)] = int(fields[1])
    found, generation = list[int](), {os.getpid()}
    while generation := {child for child, parent in parents.items() if parent in generation}:
        found += generation
    return found


def _end_all() -> None:
    """End every process below this one, first by a signal that it can handle."""
    for number, patience_s in _PATIENCE_S:
        until, sent = time.monotonic() + patience_s, set[int]()
        while time.monotonic() < until:
            for process in _descendants():
                if process not in sent:
                    sent.add(process)
                    with contextlib.suppress(OSError):
                        os.kill(process, number)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.02)


def _run(command: list[str]) -> int:
    """The exit status of a command, as shells report it."""
    child = os.posix_spawnp(command[0], command, os.environ)
    while True:
        process, status = os.wait()
        if process == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def main(task: dict[str, Any]) -> int:
    """Do what is in ``task``: ``parent``, ``folder``, ``mounts``, ``cwd``, ``command``."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    _libc.prctl(_SUBREAPER, 1)
    try:
        if task["mounts"]:
            try:
                _enclose(task["mounts"])
            except OSError as error:
                sys.stderr.write(f"{error}\n")
                return NOT_ALLOWED
        _libc.prctl(_DEATH_SIGNAL, signal.SIGTERM)  # a change of credentials would undo it
        if os.getppid() != task["parent"]:
            return 1
        os.chdir(task["cwd"])
        return _run(task["command"])
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_all()
        if os.getppid() != task["parent"]:
            shutil.rmtree(task["folder"], ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
