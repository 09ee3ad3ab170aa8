"""The base of all errors that a user can cause; the command line exits with status 2."""

from __future__ import annotations

from collections.abc import Sequence

from xladoctor.foreign import clean


class XladoctorError(Exception):
    """What is wrong and where, what was expected, and what to do about it.

    Args:
        what: the problem, with its path and position, or a list of problems. Unprintable
            characters in a path or a name are escaped.
        hint: what the user can do next; shown on lines of its own.
    """

    def __init__(self, what: str | Sequence[str], hint: str = "") -> None:
        self.what = "\n".join(map(clean, [what] if isinstance(what, str) else what))
        self.hint = clean(hint, lines=True)
        super().__init__(self.what)
        if hint:
            self.add_note(self.hint)  # for tracebacks
