"""Runs the user's program, unchanged, in a child process with the capture in its environment."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

from xladoctor.recording import asking, manifest, programs
from xladoctor.recording.bootstrap._xladoctor import frontend
from xladoctor.recording.bootstrap._xladoctor.options import VARIABLE, Options
from xladoctor.recording.directory import make_directory
from xladoctor.recording.framework import require_installed
from xladoctor.recording.interface import CaptureError, RunDirectory, RunOutcome, RunRequest
from xladoctor.recording.job import Launcher
from xladoctor.recording.naming import program_of
from xladoctor.recording.refused import refuse
from xladoctor.recording.relay import Relay
from xladoctor.recording.witness import Witness
from xladoctor.running import RUN_DIRECTORY

_BOOTSTRAP = Path(__file__).parent / "bootstrap"
_TIMED_OUT = 124  # the status of timeout(1)
_TICK_MS = 100
_TICKS_A_LOOK, _TICKS_A_CHECK = 5, 20
#: From when a program was asked to end at its next step, until it is ended anyway.
_STOP_S = 30.0
#: The most to wait until everything recorded is written, before a program is ended, after what
#: started it was, and before a process is killed that holds back a signal.
_FLUSH_S, _FLUSH_AT_SIGNAL_S, _HELD_S = 10.0, 5.0, 10.0
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
    directory = make_directory(request.output, program_of(request), Launcher.here(request.command))
    request = replace(request, options=replace(request.options, session=directory.path.name))
    record = manifest.begin(directory, request)
    began = time.monotonic()
    observer.started(directory.path)
    try:
        status, ended_after = _supervise(request, directory, observer, end)
    finally:
        asking.withdraw(directory)
        with contextlib.suppress(OSError):  # no terminal any more
            observer.ended()
    seconds = time.monotonic() - began
    lost: list[str] = []
    try:
        manifest.finish(directory, record, status, seconds, ended_after)
        runs = programs.split(directory)
    except Exception as error:  # in any case the program's status is kept
        runs = [directory]
        lost.append(str(error) or repr(error))
    passed_on = 128 - status if status < 0 else status
    if ended_after:
        passed_on = _TIMED_OUT if "timeout_s" in ended_after else 0
    return RunOutcome(passed_on, tuple(runs), tuple(lost), ended_after)


def bootstrap_first(path: str | None) -> str:
    """A ``PYTHONPATH`` on which processes find the bootstrap before all that was on it."""
    return os.pathsep.join([str(_BOOTSTRAP), *([path] if path else [])])


def handed_down(run: Path, options: Options) -> dict[str, str]:
    """The environment variables by which processes find the capture and the run directory."""
    return {
        "PYTHONPATH": bootstrap_first(os.environ.get("PYTHONPATH")),
        RUN_DIRECTORY: str(run),
        VARIABLE: json.dumps(asdict(options)),
        **({frontend.VARIABLE: known} if (known := frontend.handed_down()) else {}),
    }


def _supervise(
    request: RunRequest, directory: RunDirectory, observer: Observer, end: End
) -> tuple[int, dict[str, float]]:
    """Start the child and wait for it; signals meant for the program reach it exactly once.

    Returns:
        Its status (-n if signal n ended it), and the limit after which it was ended, if it was.
    """
    before, relay = signal.pthread_sigmask(signal.SIG_BLOCK, ()), Relay()
    try:
        environment = {**os.environ, **request.environment, **relay.environment}
        environment |= handed_down(directory.path, request.options)
        with contextlib.ExitStack() as files:
            said = files.enter_context(request.said.open("wb")) if request.said else None
            child = subprocess.Popen(
                request.command,
                env=environment,
                pass_fds=relay.descriptors,
                stderr=said,
                stdout=said,
            )
    except OSError as error:
        relay.end()
        raise CaptureError(f"cannot run {request.command[0]}: {error.strerror}") from error
    limits, witness = _Limits(request), Witness()
    signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)
    relay.begin()
    try:
        for tick in _until_the_end_of(child):
            _forward_signals(child, witness)
            if tick % _TICKS_A_CHECK == 0:
                asking.kill_held(directory, _HELD_S)
            if tick % _TICKS_A_LOOK == 0:
                with contextlib.suppress(OSError):  # no terminal any more, or no run directory
                    observer.tick()
            if (reached := limits.reached(directory)) and child.poll() is None:
                asking.flush(directory, _FLUSH_S)
                end(child, directory)
                status = child.poll()
                return (-signal.SIGKILL if status is None else status), reached
        if child.returncode < 0:  # what it started may live a little longer
            asking.flush(directory, _FLUSH_AT_SIGNAL_S)
        return child.returncode, {}
    finally:
        relay.end()
        while signal.sigtimedwait(_FORWARDED, 0):  # it got those that ended it before we looked
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        witness.end()


class _Limits:
    """How long a program that begins now may run, and when it is asked to stop."""

    def __init__(self, request: RunRequest) -> None:
        now = time.monotonic()
        self._timeout_s, self._stop_after_s = request.timeout_s, request.stop_after_s
        self._ends = now + (request.timeout_s or math.inf)
        self._stops = now + (request.stop_after_s or math.inf)
        self._asked = False

    def reached(self, directory: RunDirectory) -> dict[str, float]:
        """The limit that is exceeded, as the manifest has it. Asks the program to stop in time."""
        now = time.monotonic()
        if self._timeout_s and now >= self._ends:
            return {"timeout_s": self._timeout_s}
        if now >= self._stops and not self._asked:
            self._asked = True
            asking.stop(directory)
        if self._stop_after_s and now >= self._stops + _STOP_S:
            return {"stop_after_s": self._stop_after_s}
        return {}


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


def _forward_signals(child: subprocess.Popen[bytes], witness: Witness) -> None:
    """Pass on those sent to us alone. Never waits for one: Python's ``sigtimedwait`` makes up a
    signal if it is stopped and continued meanwhile."""
    while (received := signal.sigtimedwait(_FORWARDED, 0)) is not None:
        sent_to_all = witness.got(received.si_signo)
        if received.si_code != _SENT_BY_KERNEL and not sent_to_all:
            child.send_signal(received.si_signo)
