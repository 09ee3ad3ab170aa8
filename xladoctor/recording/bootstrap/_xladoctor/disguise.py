"""Makes warnings and tracebacks look as they would without our wrappers."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TAKES_ANY_NUMBER = 0x04  # inspect.CO_VARARGS

_installed: list[bool] = []


def install() -> None:
    """Make warnings name the program's line."""
    if _installed:
        return
    _installed.append(True)
    show = getattr(warnings, "_showwarnmsg", None)
    if show is None:
        return

    def show_at_the_programs_line(message: Any) -> None:
        if message.filename.startswith(_HERE):
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.startswith(_HERE):
                frame = frame.f_back
            if frame is not None:
                message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
        show(message)

    warnings._showwarnmsg = show_at_the_programs_line  # type: ignore[attr-defined]


def hide_frames(error: BaseException) -> None:
    """Remove our frames from the traceback of an exception that passes through a wrapper, which has
    to ``raise`` at once: that adds no frame.
    """
    shown, traceback = [], error.__traceback__
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
            shown.append(traceback)
        traceback = traceback.tb_next
    for entry, following in zip(shown, (*shown[1:], None)):
        if entry.tb_next is not following:
            entry.tb_next = following
    error.__traceback__ = shown[0] if shown else None


def origin(error: BaseException) -> str:
    """The file of the code that raised an error."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return "" if traceback is None else traceback.tb_frame.f_code.co_filename


def pass_on(error: BaseException) -> None:
    """Raise an exception again that is the program's own; see :func:`interrupts`. Called by all
    that goes on after an exception.
    """
    if interrupts(error):
        raise error


def interrupts(error: BaseException) -> bool:
    """Whether a signal handler or a trace function raised the error, in the middle of our code.

    Python calls these with the frame that they interrupt, which no other function gets. Any other
    function below our frames was called by them, even if it is the program's.
    """
    above = error.__traceback__
    while above is not None and (below := above.tb_next) is not None:
        code, values = below.tb_frame.f_code, below.tb_frame.f_locals
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & _TAKES_ANY_NUMBER)
        for name in code.co_varnames[:count]:
            value = values.get(name)
            for handed in value if type(value) is tuple else (value,):
                if handed is above.tb_frame:
                    return True
        above = below
    return False
