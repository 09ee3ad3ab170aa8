"""The session that counts for expectations.

It is that of ``xladoctor run`` or ``xladoctor.capture`` if the process has one. If not, the first
expectation starts one that lasts until the process ends. That one has wrappers, counters and a step
log in a temporary folder, but no timeline, no samples and no settings.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from importlib import import_module
from typing import Any, NamedTuple

from xladoctor.errors import XladoctorError
from xladoctor.recording.bootstrap import _xladoctor
from xladoctor.recording.bootstrap._xladoctor.options import Options
from xladoctor.recording.framework import installed

#: The package of sessions: below `xladoctor run`, and in a process that captures itself.
_PACKAGES = ("_xladoctor", "xladoctor.recording.bootstrap._xladoctor")


class _Started(NamedTuple):
    session: Any
    folder: str
    pid: int


_started: list[_Started] = []


def active() -> Any:
    """The session of this process, awake; starts one if there is none.

    Raises:
        CaptureError: the framework is missing.
        XladoctorError: the session failed, so nothing can be counted.
    """
    session = _running() or _begin()
    if not session.awake:
        session.wake()
    check(session)
    return session


def check(session: Any) -> None:
    """Raises XladoctorError if the session no longer counts."""
    if not session.awake or session.tally.off:
        raise XladoctorError("this block cannot be counted: the session that counts has ended"
                             " or failed")  # fmt: skip


def _running() -> Any:
    """Prefer a session that others started: its report needs to know what happens here."""
    running = [session for name in _PACKAGES if name in sys.modules
               for session in sys.modules[name].running()]  # fmt: skip
    others = [session for session in running if not _started or session is not _started[0].session]
    return others[-1] if others else _started[0].session if _started else None


def _begin() -> Any:
    framework = installed()
    import_module(framework)  # below `xladoctor run`, its session begins with this
    return _running() or _start(framework)


def _start(framework: str) -> Any:
    folder = tempfile.mkdtemp(prefix="xladoctor-expect-")
    options = Options(trace_steps=0, counts_only=True)
    try:
        session = _xladoctor.start(folder, framework, options)
    except RuntimeError as error:
        with open(os.path.join(folder, "python.log"), encoding="utf-8") as log:  # noqa: PTH118, PTH123
            raise XladoctorError("counting could not start", log.read()) from error
    _started.append(_Started(session, folder, os.getpid()))
    atexit.register(end)
    return session


def end() -> None:
    """End the session that expectations started, if any, and remove its folder."""
    atexit.unregister(end)
    while _started:
        started = _started.pop()
        if started.pid == os.getpid():  # not in a forked child
            started.session.uninstall()
            shutil.rmtree(started.folder, ignore_errors=True)
