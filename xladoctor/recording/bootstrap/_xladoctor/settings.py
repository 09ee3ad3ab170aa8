"""Environment variables: what the user set, and what the capture set.

The two must never be confused: the report names debugging settings that the *user* left on.
``XLADOCTOR_SET`` lists, for child processes, which variables came from the capture.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, Callable, Iterable

from .disguise import hide_frames, pass_on

#: Names the variables that the capture set.
OURS = "XLADOCTOR_SET"
#: Files that an assignment to ``os.environ`` passes through on its way to ``putenv``.
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PASSED_THROUGH = (__file__, os.__file__, "<frozen os>", "<frozen _collections_abc>")


def names(text: str) -> tuple[str, ...]:
    """The names of variables in a text."""
    return tuple(text.split())


def users(recorded: Iterable[str]) -> dict[str, str]:
    """The current values of the recorded variables, without those that the capture set."""
    ours = os.environ.get(OURS, "").split(",")
    return {name: os.environ[name] for name in recorded if name in os.environ and name not in ours}


def whole_number(name: str) -> int | None:
    """The number that a variable holds; None if it holds anything else."""
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def set_for_capture(wanted: dict[str, str]) -> None:
    """Set variables, and remember that the user did not."""
    os.environ.update(wanted)
    os.environ[OURS] = ",".join(sorted(wanted))


def unset_for_capture() -> None:
    """Unset what the capture set in a parent process."""
    for name in filter(None, os.environ.get(OURS, "").split(",")):
        os.environ.pop(name, None)


class SettingsWatch:
    """Remembers the line of the program that sets a variable through ``os.environ``."""

    def __init__(self) -> None:
        self._os: Any = sys.modules["os"]  # the program's; see :mod:`.originals`
        self._put: Callable[[Any, Any], None] = self._os.putenv
        self._installed: Any = None
        self._set_at: dict[str, tuple[str, int, str]] = {}

    def install(self) -> None:
        """Start watching: ``os.environ`` looks up ``putenv`` in its module at each assignment."""
        self._installed = self._os.putenv = self._putenv

    def uninstall(self) -> None:
        """Stop watching, unless the program has replaced the hook since."""
        if self._os.putenv is self._installed:
            self._os.putenv = self._put

    def set_at(self, recorded: Iterable[str]) -> dict[str, tuple[str, int, str]]:
        """File, line and function that last set each of the recorded variables."""
        return {name: self._set_at[name] for name in recorded if name in self._set_at}

    def _putenv(self, name: Any, value: Any) -> None:
        try:
            self._put(name, value)
        except BaseException as error:
            hide_frames(error)
            raise
        try:
            self._note(name, sys._getframe(1))
        except Exception as error:  # the line is lost; the program goes on
            pass_on(error)

    def _note(self, name: Any, frame: FrameType | None) -> None:
        text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        while frame is not None and frame.f_code.co_filename in _PASSED_THROUGH:
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(_HERE):
            code = frame.f_code
            self._set_at[text] = (os.path.abspath(code.co_filename), frame.f_lineno, code.co_name)
