"""Runs the user's program, unchanged, in a child process with the capture in its environment."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Protocol

from xladoctor.capture import manifest
from xladoctor.capture.interface import CaptureError, RunDirectory, RunOutcome, RunRequest

INSTALL_LINE = "pip install 'xladoctor[xla]'    (that is torch==2.9.0 and torch-xla==2.9.0)"
_BOOTSTRAP = Path(__file__).parent / "bootstrap"
_TICK_S = 0.5
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_SENT_BY_KERNEL = 0x80  # si_code of a signal from the terminal: the child got it as well


class Observer(Protocol):
    """Hears twice a second that the program still runs."""

    def started(self, directory: Path) -> None:
        """The program is about to start; its evidence will be in ``directory``."""

    def tick(self) -> None:
        """It still runs."""

    def ended(self) -> None:
        """It has ended."""


def run(request: RunRequest, observer: Observer) -> RunOutcome:
    """Run the program to its end, whatever that is.

    Raises:
        CaptureError: torch_xla is missing, the program cannot be started, or the run directory
            cannot be made. Nothing was run then.
    """
    if request.needs_torch_xla:
        _require_torch_xla()
    directory = _make_directory(request)
    session = directory.path.name
    record = manifest.begin(directory, request, session)
    began = time.monotonic()
    observer.started(directory.path)
    try:
        status = _supervise(request, directory, session, observer)
    finally:
        observer.ended()
    seconds = time.monotonic() - began
    manifest.finish(directory, record, status, seconds)
    return RunOutcome(status=128 - status if status < 0 else status, directory=directory)


def _require_torch_xla() -> None:
    missing = [name for name in ("torch", "torch_xla") if importlib.util.find_spec(name) is None]
    if missing:
        raise CaptureError(
            f"{' and '.join(missing)} not installed for {sys.executable}, which would run the"
            " program",
            f"{INSTALL_LINE}\nor name another environment's Python:"
            " xladoctor run -- /path/to/python train.py",
        )


def _make_directory(request: RunRequest) -> RunDirectory:
    path = request.output or _default_output(request.script)
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        if not path.is_dir() or any(path.iterdir()):
            raise CaptureError(
                f"{path} exists and is not an empty directory",
                "name another directory with --output, or remove this one",
            ) from None
    except OSError as error:
        raise CaptureError(
            f"cannot make the run directory {path}: {error.strerror}",
            "name a directory that you may write to with --output",
        ) from error
    return RunDirectory(path.resolve())


def _default_output(script: str) -> Path:
    stem = Path(script).stem.strip(".") or "run"
    stamp = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    base = Path("xladoctor-runs") / f"{stamp}-{stem}"
    path, number = base, 2
    while path.exists():
        path, number = base.with_name(f"{base.name}-{number}"), number + 1
    return path


def _environment(request: RunRequest, directory: RunDirectory, session: str) -> dict[str, str]:
    path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_BOOTSTRAP), *([path] if path else [])]),
        "XLADOCTOR_RUN_DIRECTORY": str(directory.path),
        "XLADOCTOR_SESSION": session,
        "XLADOCTOR_TRACE_STEPS": str(request.trace_steps),
        "XLADOCTOR_TRACE_SECONDS": str(request.trace_seconds),
    }


def _supervise(
    request: RunRequest, directory: RunDirectory, session: str, observer: Observer
) -> int:
    """Start the child and wait for it; signals meant for the program reach it exactly once."""
    waited = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        child = subprocess.Popen(request.command, env=_environment(request, directory, session))
    except OSError as error:
        raise CaptureError(f"cannot run {request.command[0]}: {error.strerror}") from error
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        while child.poll() is None:
            received = signal.sigtimedwait(waited, _TICK_S)
            if received is None:
                observer.tick()
            elif received.si_signo != signal.SIGCHLD and received.si_code != _SENT_BY_KERNEL:
                child.send_signal(received.si_signo)
        return child.returncode
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
