"""Makes warnings and tracebacks look as they would without our wrappers."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType, TracebackType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


_installed: list[bool] = []


def install() -> None:
    """Make warnings name the program's line, and leave our frames out of tracebacks."""
    if not _installed:
        _installed.append(True)
        _keep_lines_of_warnings()
        _keep_tracebacks()


def _keep_lines_of_warnings() -> None:
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


def _keep_tracebacks() -> None:
    show = sys.excepthook

    def show_without_our_frames(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        shown = _without_ours(traceback)
        error.__traceback__ = shown
        show(kind, error, shown)

    sys.excepthook = show_without_our_frames


def _without_ours(traceback: TracebackType | None) -> TracebackType | None:
    """The same traceback without entries of this package."""
    shown = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
            shown.append(traceback)
        traceback = traceback.tb_next
    for entry, following in zip(shown, (*shown[1:], None)):
        entry.tb_next = following
    return shown[0] if shown else None
