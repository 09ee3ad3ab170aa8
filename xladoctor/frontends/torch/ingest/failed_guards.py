"""The failed guards of a function's versions, from Dynamo's records, without actual values."""

from __future__ import annotations

from collections.abc import Sequence

from xladoctor.ingest.frames import CallSite, Folders, Frame
from xladoctor.quantities import whole_number
from xladoctor.recording.bootstrap._xladoctor.pytorch import guards

_LONGEST = 5_000  # characters of a reason: patterns take quadratic time
_NO_VALUES = guards.Frame({}, {})
_Condition = tuple[str, str, str]


class FailedGuards:
    """Why each version was compiled: the guards of earlier versions that failed.

    A record names a guard of every earlier version. So it also shows what each of those was
    compiled for and, if only part of a log was pasted, why.
    """

    def __init__(self) -> None:
        self._reasons: dict[str, Sequence[str]] = {}  # by compilation
        self._guards: dict[str, str] = {}  # by the version that has the guard

    def add(self, number: str, reasons: Sequence[str]) -> None:
        """Take a record's reasons; ``number`` is the compilation's, such as ``0/2``."""
        self._reasons[number] = reasons = [reason[:_LONGEST] for reason in reasons]
        for reason in reasons:
            if version := guards.compared_with(reason):
                self._guards.setdefault(version, reason)

    def __contains__(self, number: str) -> bool:
        return number in self._reasons

    @property
    def conditions(self) -> set[_Condition]:
        """What the guards in the records hold for."""
        return {condition(reason) for reasons in self._reasons.values() for reason in reasons}

    def drop(self, number: str) -> None:
        """Forget the reasons of a compilation that did not take place."""
        self._reasons.pop(number, None)

    def reason(self, number: str) -> str | None:
        """Why a version was compiled; None if unknown.

        If its own record is missing, it is the previous version's guard, provided that its own
        guard, which failed later, is on the same value.
        """
        if reasons := self._reasons.get(number):
            return str(guards.nearest(reasons))
        frame, _, nth = number.partition("/")
        before = self._guards.get(f"{frame}/{(whole_number(nth) or 0) - 1}")
        own = self._guards.get(number)
        return before if before and own and _subject(before) == _subject(own) else None

    def change(self, reason: str, number: str = "") -> guards.Change:
        """What was new, from the guard that failed and the guard of the new version."""
        change = guards.change(reason, _NO_VALUES)
        own = self._guards.get(number)
        if number in self._reasons and change.now:
            return change  # else the actual value is that of a later version
        if own and _subject(own) == (change.what, change.argument):
            return change._replace(now=guards.change(own, _NO_VALUES).was)
        return change


def used_at(reason: str, files: Sequence[str], folders: Folders) -> CallSite:
    """The line that needs the guard; ``files`` are candidates for a path that is not whole."""
    stack = guards.traced(reason, files)
    return folders.locate([Frame(*frame) for frame in reversed(stack)])


def condition(reason: str) -> _Condition:
    """What a guard holds for: what it is about, the argument, and the value expected there."""
    change = guards.change(reason, _NO_VALUES)
    return change.what, change.argument, change.was


def _subject(reason: str) -> tuple[str, str]:
    change = guards.change(reason, _NO_VALUES)
    return change.what, change.argument
