"""Runs the user's program, unchanged, in a child process with the capture in its environment."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

from xladoctor.recording import manifest, programs
from xladoctor.recording.bootstrap._xladoctor import frontend
from xladoctor.recording.bootstrap._xladoctor.options import VARIABLE, Options
from xladoctor.recording.directory import make_directory
from xladoctor.recording.framework import require_installed
from xladoctor.recording.interface import CaptureError, RunDirectory, RunOutcome, RunRequest
from xladoctor.recording.job import Launcher
from xladoctor.recording.refused import refuse
from xladoctor.running import RUN_DIRECTORY

_BOOTSTRAP = Path(__file__).parent / "bootstrap"
_TIMED_OUT = 124  # the status of timeout(1)
_TICK_MS = 100
_TICKS_A_LOOK = 5
_FORWARDED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_SENT_BY_KERNEL = 0x80  # si_code of a signal from the terminal: the child got it as well


class Observer(Protocol):
    """Is called twice a second while the program is running."""

    def started(self, directory: Path) -> None:
        """Called before the program starts; its evidence will be in ``directory``."""

    def tick(self) -> None:
        """Called while it is still running."""

    def ended(self) -> None:
        """Called after it has ended."""


#: Ends a program, given as a child process, that exceeds its time limit; may leave files in the
#: run directory.
End = Callable[[subprocess.Popen[bytes], RunDirectory], None]


def run(request: RunRequest, observer: Observer, end: End) -> RunOutcome:
    """Run the program until it ends, in whatever way.

    Args:
        end: ends the program once it has taken ``request.timeout_s``.

    Raises:
        CaptureError: the framework is missing, the program cannot be started or captured, or the
            run directory cannot be created. In that case nothing was run.
    """
    refuse(request)
    if request.needs_framework:
        require_installed()
    directory = make_directory(request.output, request.script, Launcher.here(request.command))
    request = replace(request, options=replace(request.options, session=directory.path.name))
    record = manifest.begin(directory, request)
    began = time.monotonic()
    observer.started(directory.path)
    try:
        status, timed_out = _supervise(request, directory, observer, end)
    finally:
        with contextlib.suppress(OSError):  # no terminal any more
            observer.ended()
    seconds = time.monotonic() - began
    lost: list[str] = []
    try:
        manifest.finish(
            directory, record, status, seconds, request.timeout_s if timed_out else None
        )
        runs = programs.split(directory)
    except Exception as error:  # in any case the program's status is kept
        runs = [directory]
        lost.append(str(error) or repr(error))
    passed_on = _TIMED_OUT if timed_out else 128 - status if status < 0 else status
    return RunOutcome(passed_on, tuple(runs), tuple(lost))


def handed_down(run: Path, options: Options) -> dict[str, str]:
    """The environment variables by which processes find the capture and the run directory."""
    path = os.environ.get("PYTHONPATH")
    return {
        "PYTHONPATH": os.pathsep.join([str(_BOOTSTRAP), *([path] if path else [])]),
        RUN_DIRECTORY: str(run),
        VARIABLE: json.dumps(asdict(options)),
        **({frontend.VARIABLE: known} if (known := frontend.handed_down()) else {}),
    }


def _supervise(
    request: RunRequest, directory: RunDirectory, observer: Observer, end: End
) -> tuple[int, bool]:
    """Start the child and wait for it; signals meant for the program reach it exactly once.

    Returns:
        Its status (-n if signal n ended it), and whether it exceeded its time limit.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        environment = {**os.environ, **handed_down(directory.path, request.options)}
        child = subprocess.Popen(request.command, env=environment)
    except OSError as error:
        raise CaptureError(f"cannot run {request.command[0]}: {error.strerror}") from error
    ends = time.monotonic() + (request.timeout_s or float("inf"))
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    try:
        for tick in _until_the_end_of(child):
            _forward_signals(child)
            if tick % _TICKS_A_LOOK == 0:
                with contextlib.suppress(OSError):  # no terminal any more, or no run directory
                    observer.tick()
            if time.monotonic() >= ends and child.poll() is None:
                end(child, directory)
                status = child.poll()
                return (-signal.SIGKILL if status is None else status), True
        return child.returncode, False
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def signals_kept() -> Iterator[None]:
    """Keep signals that are meant for the program away from threads started in this context.

    If a thread does not block a signal, as DuckDB's do not, the signal ends this process, and the
    program continues alone.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _until_the_end_of(child: subprocess.Popen[bytes]) -> Iterator[int]:
    """Count ticks until the child ends; returns at once when it does."""
    waiter = select.poll()
    descriptor = os.pidfd_open(child.pid)  # Linux 5.3
    waiter.register(descriptor, select.POLLIN)
    try:
        for tick in itertools.count(1):
            waiter.poll(_TICK_MS)
            if child.poll() is not None:
                return
            yield tick
    finally:
        os.close(descriptor)


def _forward_signals(child: subprocess.Popen[bytes]) -> None:
    """Pass on those sent to us alone. Never waits: Python's ``sigtimedwait`` makes up a signal if
    it is stopped and continued meanwhile."""
    while (received := signal.sigtimedwait(_FORWARDED, 0)) is not None:
        if received.si_code != _SENT_BY_KERNEL:
            child.send_signal(received.si_signo)
