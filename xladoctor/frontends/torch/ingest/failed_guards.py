"""The guards of a function's versions that failed, as Dynamo's records have them without values."""

from __future__ import annotations

from collections.abc import Sequence

from xladoctor.ingest.frames import CallSite, Folders, Frame
from xladoctor.recording.bootstrap._xladoctor.pytorch import guards

_LONGEST = 5_000  # characters of a reason, of which patterns try each start with each end
_NO_VALUES = guards.Frame({}, {})


class FailedGuards:
    """Why versions were compiled: of each, the guards of those before it that failed.

    A record names a guard of every earlier version, so that it tells of those versions, too: what
    each was compiled for, and in a text of which a part was pasted, why.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, Sequence[str]] = {}  # by compilation
        self._guards: dict[str, str] = {}  # by the version whose guard it is

    def add(self, number: str, reasons: Sequence[str]) -> None:
        """Take a record's reasons; ``number`` is that of the compilation, as ``0/2``."""
        self._reasons[number] = reasons = [reason[:_LONGEST] for reason in reasons]
        for reason in reasons:
            if version := guards.compared_with(reason):
                self._guards.setdefault(version, reason)

    def drop(self, number: str) -> None:
        """Forget why a compilation was asked for that was none."""
        self._reasons.pop(number, None)

    def reason(self, number: str) -> str | None:
        """Why it was compiled; None where that is not known.

        Where its own record is missing: the guard of the version before, if its own guard, which
        failed later, is on the same value.
        """
        if reasons := self._reasons.get(number):
            return str(guards.nearest(reasons))
        frame, _, nth = number.partition("/")
        before = self._guards.get(f"{frame}/{int(nth) - 1}") if nth.isdigit() else None
        own = self._guards.get(number)
        return before if before and own and _subject(before) == _subject(own) else None

    def change(self, reason: str, number: str = "") -> guards.Change:
        """What was new, by the guard that failed and by that of the new version."""
        change = guards.change(reason, _NO_VALUES)
        own = self._guards.get(number)
        if own and not change.now and _subject(own) == (change.what, change.argument):
            return change._replace(now=guards.change(own, _NO_VALUES).was)
        return change


def used_at(reason: str, files: Sequence[str], folders: Folders) -> CallSite:
    """The line that needs the guard; ``files`` may be meant by a path that is not whole."""
    stack = guards.traced(reason, files)
    return folders.locate([Frame(*frame) for frame in reversed(stack)])


def _subject(reason: str) -> tuple[str, str]:
    change = guards.change(reason, _NO_VALUES)
    return change.what, change.argument
