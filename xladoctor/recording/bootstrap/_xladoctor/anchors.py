"""Which calls of compiled functions end a step, in programs that have no barriers.

A step goes from one call of the loop's *anchor* to the next. Of the calls that launch work in a
turn of a loop, that is the one whose graph does most: between two of its launches nothing heavier
is launched. So a program has an anchor for each of its loops (training, evaluation), and a call
that is made once is none. Calls that do next to nothing beside that of the loop which does most,
each and all together, are none either: an optimizer that is not compiled launches hundreds of small
graphs in a turn.
Nor does it make a loop that the framework, called once, launches one operation after the other.
Where functions of the program are launched turn after turn, the single operations of the framework
that come between belong to these turns, whatever they do: they end no steps, nor do those in loops
within a turn.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Callable, Collection

from .call_site import LIBRARY, OURS, USER
from .warmup import LEAST_OF_STEP

_ALONE = 100  # operations after a function's launch, at least, that may have a loop of their own
_FEW = 3  # launches in a turn of a loop, beside its first, that make no loop of their own

_Call = tuple[int | None, int]  # the call site, and the calls that led there


class Anchors:
    """Follows the launches of one thread.

    Attributes:
        since: launches that ended steps, since an anchor has made all before it next to nothing.
        functions: whether single operations end no steps, as the program launches functions.
    """

    def __init__(
        self,
        work: dict[int | None, float],
        kind: Callable[[str], int],
        entries: Collection[str] = (),
        wrappers: Collection[str] = (),
        operations: Collection[int | None] = (),
    ) -> None:
        """
        Args:
            work: of the heaviest graph that a call site has launched.
            kind: of a file, see :mod:`.call_site`.
            entries: see :class:`.frontend.Frontend`.
            wrappers: the same.
            operations: call sites that have launched nothing but single operations of the
                framework.
        """
        self._kind = kind
        self._operations = operations
        self.functions = False
        self._between = self._turn = 0  # operations since a function's launch; at most, in a turn
        self._effort = {True: 0.0, False: 0.0}  # work of operations, and of functions
        self._entries, self._wrappers = entries, wrappers
        self._nameless = {*entries, *wrappers}
        self.since = 0
        self._work = work
        self._most = self._main = 0.0  # of the loop that does most: in all, and in a launch
        self._total: dict[_Call, float] = {}
        self._light: dict[int | None, float] = {}  # the same of sites with little work in a launch
        self._launches = 0
        self._last: dict[_Call, tuple[int, int]] = {}  # launches and steps until then
        self._won: dict[_Call, int] = {}
        self._run: dict[_Call, int] = {}  # launches since a heavier one
        self._steps = 0
        #: Launches that no heavier one has followed yet, each heavier than the next: of equal ones
        #: the call that was first in the program is the heavier.
        self._heavier: list[tuple[float, int, int]] = []
        self._functions: list[tuple[float, int, int]] = []  # the same without operations
        self._order: dict[_Call, int] = {}
        #: The program's call of the framework that launched last, if nothing came after it.
        self._latest: tuple[int, int, int] | None = None  # the frame, its code, the instruction
        self._launched = ""  # what it launched
        self._mixed: set[tuple[int, int]] = set()  # code and instruction, of several operations

    def ends_step(self, site: int | None, function: str = "") -> bool:
        """A launch at a call site, by the functions that are under way: whether it ends a step.

        Args:
            site: where.
            function: the name of what is launched, if the framework tells.
        """
        work = self._work.get(site, 0.0)
        operation = site in self._operations
        self._effort[operation] += work
        between = self._between
        self._between = between + 1 if operation else 0
        if operation and self.functions and between <= 2 * max(self._turn, _ALONE):
            self._latest = None
            return False
        if work < LEAST_OF_STEP * self._main:
            light = self._light[site] = self._light.get(site, 0.0) + work
            if light < LEAST_OF_STEP * self._most:
                self._latest = None
                return False
        caller, own = self._caller(sys._getframe(2))
        if self._goes_on(caller, own, function):
            return False
        call = (site, _path(caller))
        total = self._total[call] = self._total.get(call, 0.0) + work
        self._launches += 1
        order = self._order.setdefault(call, -len(self._order))
        last = self._last.get(call)
        leads = self._leads(self._heavier, work, order, last)
        if not operation:
            among = self._leads(self._functions, work, order, last)
            leads = among if self._functions_matter else leads
        wins = last is not None and self._wins(call, leads, self._steps - last[1])
        self._steps += wins
        self._last[call] = self._launches, self._steps
        if not wins:
            return False
        self.since += 1
        if not operation:
            self._returned(between)
        if total > self._most:
            if self._main < LEAST_OF_STEP * work:
                self.since = 0
            self._most, self._main = total, work
        return True

    def _leads(
        self,
        heavier: list[tuple[float, int, int]],
        work: float,
        order: int,
        last: tuple[int, int] | None,
    ) -> bool:
        """Whether nothing heavier was launched since a call did last; it is added."""
        while heavier and heavier[-1][:2] <= (work, order):
            heavier.pop()
        leads = last is not None and (not heavier or heavier[-1][2] < last[0])
        heavier.append((work, order, self._launches))
        return leads

    @property
    def _functions_matter(self) -> bool:
        return self._effort[False] >= LEAST_OF_STEP * self._effort[True]

    def _returned(self, between: int) -> None:
        """A launch of a function has ended a step, with so many operations before it."""
        self._turn = max(self._turn, between)
        if not self.functions and self._functions_matter:
            self.functions, self.since = True, 0

    def went_on(self) -> None:
        """The program did something else on the device: a call that launches again is another."""
        self._latest = None

    def _goes_on(self, caller: FrameType | None, own: bool, function: str) -> bool:
        """Whether the program's call that launched last still does: the framework's own Python
        launches several operations in it, and no other call, nor a read, came between two of them.
        """
        if own:
            self._latest = None
            return False
        frame = caller
        while frame is not None and self._kind(frame.f_code.co_filename) not in (USER, LIBRARY):
            frame = frame.f_back
        latest, launched = self._latest, self._launched
        if frame is None or frame is caller:
            self._latest = None
            return False
        place = id(frame.f_code), frame.f_lasti
        self._latest, self._launched = (id(frame), *place), function
        if self._latest != latest:
            return False
        if function != launched:
            self._mixed.add(place)
        return place in self._mixed

    def _wins(self, call: _Call, leads: bool, steps: int) -> bool:
        """Whether a call leads more often than not.

        Args:
            call: that has launched again.
            leads: nothing heavier was launched since it did.
            steps: that ended since.
        """
        run = self._run.get(call, 0)
        # The first launch of an evaluation comes after many heavier ones: it is a step too. One
        # that comes after each heavier one is a part of that one's turn.
        lost = 1 if steps > 1 else 1 + 2 * min(run, _FEW)
        self._run[call] = run + 1 if leads else 0
        won = self._won[call] = self._won.get(call, 0) + (1 if leads else -lost)
        return won > 0

    def _caller(self, frame: FrameType | None) -> tuple[FrameType | None, bool]:
        """The frame that called the function, and whether that is a line of the program, which is
        the common case; a call that compiles goes through the framework's.
        """
        caller: FrameType | None = None
        while frame is not None:
            kind = self._kind(frame.f_code.co_filename)
            if kind != OURS:
                if caller is None and kind == USER and frame.f_code.co_name not in self._nameless:
                    return frame, True
                caller = caller or frame
                if kind in (USER, LIBRARY):
                    break
            if frame.f_code.co_name in self._entries:
                caller = frame.f_back
                break
            frame = frame.f_back
        while caller is not None and caller.f_code.co_name in self._wrappers:
            caller = caller.f_back
        return caller, False


def _path(frame: FrameType | None) -> int:
    """Stands for the calls on the stack."""
    path = 0
    while frame is not None:
        path = hash((path, id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    return path
