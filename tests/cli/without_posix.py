"""Runs the command line as on Windows: without the modules and functions that only POSIX has."""

from __future__ import annotations

import asyncio  # noqa: F401  # these use what is taken away when they are imported, as is right here
import concurrent.futures.thread  # noqa: F401
import importlib.abc
import multiprocessing.connection  # noqa: F401
import os
import select
import signal
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

import duckdb  # noqa: F401
import jinja2  # noqa: F401
import numpy  # noqa: F401
import pydantic  # noqa: F401
import rich.console  # noqa: F401
import typer.main  # noqa: F401

MODULES = {"fcntl", "grp", "pwd", "pty", "resource", "syslog", "termios", "tty"}
#: What Windows has not; functions that begin with these, and constants.
OF_OS = """
    chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp
    getresuid getsid getuid initgroups killpg lchown mkfifo nice pathconf posix_spawn
    posix_fadvise pread preadv pwrite register_at_fork sched_getaffinity sched_yield sendfile setgid
    setpgid setsid setuid statvfs sysconf uname wait waitid wait3 wait4 P_PID P_PIDFD WEXITED
    WNOHANG WNOWAIT O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH O_SYNC POSIX_SPAWN_OPEN
    pidfd_open memfd_create eventfd confstr openpty ttyname
"""
OF_SIGNAL = """
    SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGUSR1
    SIGUSR2 SIGBUS SIGXCPU SIGXFSZ SIGWINCH SIG_BLOCK SIG_SETMASK SIG_UNBLOCK ITIMER_REAL alarm
    getitimer setitimer pause pthread_kill pthread_sigmask sigpending sigtimedwait sigwait
    sigwaitinfo siginterrupt
"""
OF_TIME = "clock_gettime clock_gettime_ns clock_settime tzset CLOCK_BOOTTIME CLOCK_MONOTONIC"


class _Missing(importlib.abc.MetaPathFinder):
    """Finds nothing where Windows has no such module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raises as Python does there."""
        if fullname in MODULES:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def main() -> None:
    """The command line, with what is left."""
    left = ((os, OF_OS), (signal, OF_SIGNAL), (time, OF_TIME), (select, "epoll poll"))
    for module, names in left:
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Missing())
    sys.argv[0] = "xladoctor"
    from xladoctor.__main__ import main as command_line

    command_line()


if __name__ == "__main__":
    main()
