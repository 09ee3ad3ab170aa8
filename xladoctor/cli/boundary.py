"""The one place that turns errors into messages and exit statuses."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from xladoctor import __version__
from xladoctor.errors import XladoctorError
from xladoctor.report.output import emit

USAGE = 2
OWN_FAULT = 70
INTERRUPTED = 130  # what shells report for a process that SIGINT ended
BROKEN_PIPE = 120  # what Python itself ends with when its last flush fails
_PASSED_ON = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

#: A callback of Python's import system, whose exceptions are printed and forgotten.
_UNHEARD = ("<frozen importlib._bootstrap>", "cb")

_MOMENT_S = 0.001

_interrupted: list[bool] = []


def end_on_interrupt() -> None:
    """From now on Ctrl-C ends the command in order, and a second one at once."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    unheard = frame and (frame.f_code.co_filename, frame.f_code.co_name) == _UNHEARD
    if unheard and hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, _MOMENT_S)  # by then it has returned
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _interrupted.append(True)
    raise SystemExit(INTERRUPTED)


def end_if_interrupted() -> None:
    """Go no further if there was Ctrl-C, which what ran then made a result of."""
    if _interrupted:
        raise SystemExit(INTERRUPTED)


def complain(error: XladoctorError) -> None:
    """Say on standard error what is wrong and, below it, what to do."""
    hint = "".join(f"  {line}\n" for line in error.hint.splitlines())
    emit(f"xladoctor: {error.what}\n{hint}", sys.stderr)


@contextmanager
def boundary() -> Iterator[None]:
    """Exit 2 for errors that a user can cause, saying what to do; 70 for a bug of ours."""
    try:
        yield
    except Exception as error:
        raise SystemExit(report_error(error)) from error


def report_error(error: Exception) -> int:
    """Say on standard error what happened, and what to do; returns the exit status for it."""
    if _interrupted:  # a library made an error of it
        return INTERRUPTED
    if isinstance(error, OSError) and error.errno in _FULL:
        error = XladoctorError(f"cannot write {error.filename or 'output'}: {error.strerror}")
    if isinstance(error, XladoctorError):
        complain(error)
        return USAGE
    import traceback

    emit(
        f"{''.join(traceback.format_exception(error))}xladoctor {__version__}: this is a bug in"
        " xladoctor. Please report it with the text above and, if you may share it, the run"
        " directory.\n",
        sys.stderr,
    )
    return OWN_FAULT


def go_on_in_copy(status: int, hint: str) -> None:
    """Go on in a copy of this process, while this one waits and ends as the copy does.

    A fault in a library's machine code, or the kernel when memory is short, ends a process without
    a word. If that happens to the copy, this process says so and ends with ``status``. Where the
    system cannot copy a process, this one goes on.

    Args:
        hint: what to do then.
    """
    if not hasattr(os, "fork"):
        return
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *_PASSED_ON))
    try:
        copy = _forked()
        if not copy:
            return
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the copy as well
        for number in _PASSED_ON:
            signal.signal(number, lambda number, _: _send(copy, number))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    ended = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
    if ended < 0:
        what = f"the analysis was ended by a signal: {signal.strsignal(-ended)}"
        complain(XladoctorError(what, hint))
        ended = status
    leave(ended)


def _forked() -> int:
    """The copy's number; 0 in the copy, or if there cannot be one."""
    with warnings.catch_warnings(), suppress(OSError):
        warnings.simplefilter("ignore")  # about threads: those of libraries survive a fork
        return os.fork()
    return 0


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def leave(status: object) -> NoReturn:
    """End the process at once: taking the libraries' modules apart would take a tenth of a second.

    Args:
        status: as of SystemExit: a number, a message, or None for 0.
    """
    if _interrupted:
        emit("xladoctor: interrupted\n", sys.stderr)
        status = INTERRUPTED
    code = status if isinstance(status, int) else int(status is not None)
    if isinstance(status, str):
        emit(f"{status}\n", sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # nobody reads any more
            code = code or BROKEN_PIPE
    os._exit(code)
