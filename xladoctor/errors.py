"""The base of all errors that a user can cause; the command line exits with status 2."""

from __future__ import annotations


class XladoctorError(Exception):
    """What is wrong and where, what was expected, and what to do about it.

    Args:
        what: the problem, with its path and position.
        hint: what the user can do next; shown on a line of its own.
    """

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        if hint:
            self.add_note(hint)  # for tracebacks
