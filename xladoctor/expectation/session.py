"""The sessions that count for expectations, one for each framework that the process has imported.

If the process is captured by ``xladoctor run`` or ``xladoctor.capture``, their sessions are used.
If not, the first expectation starts sessions that last until the process ends, also for frameworks
that are imported later. They have wrappers, counters and a step log in a temporary folder, but no
timeline, no samples and no settings.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from xladoctor.errors import XladoctorError
from xladoctor.recording.bootstrap._xladoctor.frontend import BASE, FRONTENDS
from xladoctor.recording.bootstrap._xladoctor.import_hook import Capture
from xladoctor.recording.bootstrap._xladoctor.options import Options
from xladoctor.recording.framework import require_installed

#: The packages of sessions: below `xladoctor run`, and in a process that captures itself.
_LAUNCHED = "_xladoctor"
_PACKAGES = (_LAUNCHED, "xladoctor.recording.bootstrap._xladoctor")


class _Started(NamedTuple):
    capture: Capture
    frameworks: list[str]
    folder: str
    pid: int


_started: list[_Started] = []


def active() -> dict[str, Any]:
    """The sessions of this process by framework, awake; starts those that are missing.

    Raises:
        CaptureError: no framework is installed.
        XladoctorError: a session failed, so not everything can be counted.
    """
    _begin([name for name in FRONTENDS if name not in _all()])
    sessions = running()
    for session in sessions.values():
        if not session.awake:
            session.wake()
        check(session)
    return sessions


def check(session: Any) -> None:
    """Raises XladoctorError if the session no longer counts."""
    if not session.awake or session.tally.off:
        raise XladoctorError(
            "this block cannot be counted: the session that counts has ended or failed"
        )


def running() -> dict[str, Any]:
    """The running sessions by framework; prefers sessions that expectations did not start, whose
    report has to include what happens here.
    """
    sessions = _all()
    if len(sessions) > 1:
        sessions.pop(BASE, None)
    return sessions


def _all() -> dict[str, Any]:
    own = [session for started in _started for session in started.capture.sessions]
    others = [
        session
        for name in _PACKAGES
        if name in sys.modules
        for session in sys.modules[name].running()
        if session not in own
    ]
    return {session.framework: session for session in (*own, *others)}


def _begin(missing: list[str]) -> None:
    """Start sessions for these frameworks once they are imported."""
    begun = {name for started in _started for name in started.frameworks}
    if _LAUNCHED in sys.modules:  # the capture waits for them itself
        missing = [name for name in missing if sys.modules.get(name)]
    elif not _started:
        require_installed()
    if new := [name for name in missing if name not in begun]:
        folder = tempfile.mkdtemp(prefix="xladoctor-expect-")
        capture = Capture(folder, Options(trace_steps=0, counts_only=True))
        capture.install(new)
        _started.append(_Started(capture, new, folder, os.getpid()))
        atexit.register(end)
    for name in missing:
        if sys.modules.get(name) and name not in _all():
            raise XladoctorError(f"counting could not start for {name}", _log())


def _log() -> str:
    files = (Path(started.folder, "python.log") for started in _started)
    return "\n".join(file.read_text(errors="replace") for file in files if file.exists())


def end() -> None:
    """End the sessions that expectations started, if any, and remove their folders."""
    atexit.unregister(end)
    while _started:
        started = _started.pop()
        if started.pid == os.getpid():  # not in a forked child
            started.capture.uninstall()
            shutil.rmtree(started.folder, ignore_errors=True)
