"""Which calls of compiled functions end a step, in programs that have no barriers.

A step runs from one call of a loop's *anchor* to the next. The anchor is the call with the heaviest
graph of those launched in each iteration: nothing heavier is launched between two of its launches.
So each loop of a program (training, evaluation) has its own anchor, and a call made only once is
never one. Nor are calls whose work is negligible next to the heaviest loop's, one by one and
all together: an optimizer that is not compiled launches hundreds of small graphs per iteration.

The framework launching several operations within a single call does not make a loop. And once the
program launches functions in each iteration, the framework's single operations in between belong to
that iteration, however heavy they are: they end no steps, even in loops within an iteration.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Callable, Collection

from .call_site import LIBRARY, OURS, USER
from .warmup import LEAST_OF_STEP

_ALONE = 100  # operations between functions assumed at least; over twice as many are a loop
_FEW = 3  # launches in an iteration, after its first, that do not make a loop of their own

_Call = tuple[int | None, int]  # the call site, and the calls that led there


class Anchors:
    """Follows the launches of one thread.

    Attributes:
        since: steps ended since an anchor was found that makes all earlier work negligible.
        functions: whether the program launches functions, so that single operations end no steps.
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
            work: the work of the heaviest graph that each call site has launched.
            kind: classifies a file, see :mod:`.call_site`.
            entries: see :class:`.frontend.Frontend`.
            wrappers: see :class:`.frontend.Frontend`.
            operations: call sites that have launched nothing but single operations of the
                framework.
        """
        self._kind = kind
        self._operations = operations
        self.functions = False
        self._between = self._turn = 0  # operations since a function's launch, and the most so far
        self._effort = {True: 0.0, False: 0.0}  # work of operations, and of functions
        self._entries, self._wrappers = entries, wrappers
        self._nameless = {*entries, *wrappers}
        self.since = 0
        self._work = work
        self._most = self._main = 0.0  # work of the heaviest loop: in total, and per launch
        self._total: dict[_Call, float] = {}
        self._light: dict[int | None, float] = {}  # total work of sites whose launches do little
        self._launches = 0
        self._last: dict[_Call, tuple[int, int]] = {}  # launches and steps counted at its last one
        self._won: dict[_Call, int] = {}
        self._run: dict[_Call, int] = {}  # launches since a heavier one
        self._steps = 0
        #: Launches not yet followed by a heavier one, heaviest first. Of equal ones, the call that
        #: the program made first counts as the heavier.
        self._heavier: list[tuple[float, int, int]] = []
        self._functions: list[tuple[float, int, int]] = []  # likewise, without single operations
        self._order: dict[_Call, int] = {}
        #: The program's call into the framework that launched last, unless something came after it.
        self._latest: tuple[int, int, int] | None = None  # ids of frame and code, instruction
        self._launched = ""  # the name of what it launched
        self._mixed: set[tuple[int, int]] = set()  # calls that launched different operations

    def ends_step(self, site: int | None, function: str = "") -> bool:
        """Record a launch by the current stack, and return whether it ends a step.

        Args:
            site: the call site that launches.
            function: the name of what is launched, if the framework reports it.
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
        """Whether nothing heavier was launched since this call's last launch. Adds the launch."""
        while heavier and heavier[-1][:2] <= (work, order):
            heavier.pop()
        leads = last is not None and (not heavier or heavier[-1][2] < last[0])
        heavier.append((work, order, self._launches))
        return leads

    @property
    def _functions_matter(self) -> bool:
        return self._effort[False] >= LEAST_OF_STEP * self._effort[True]

    def _returned(self, between: int) -> None:
        """Record that a function's launch ended a step, after ``between`` single operations."""
        self._turn = max(self._turn, between)
        if not self.functions and self._functions_matter:
            self.functions, self.since = True, 0

    def went_on(self) -> None:
        """Record other use of the device: a launch after it belongs to a new call."""
        self._latest = None

    def _goes_on(self, caller: FrameType | None, own: bool, function: str) -> bool:
        """Whether this launch is part of the same call of the program as the last one: the
        framework's own Python launches several operations in a call, with no other call and no
        read in between.
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
            call: the call that has launched again.
            leads: whether nothing heavier was launched since its last launch.
            steps: the steps that ended since its last launch.
        """
        run = self._run.get(call, 0)
        # The first launch of an evaluation follows many heavier ones, yet ends a step. A call that
        # follows every heavier launch is part of that launch's iteration.
        lost = 1 if steps > 1 else 1 + 2 * min(run, _FEW)
        self._run[call] = run + 1 if leads else 0
        won = self._won[call] = self._won.get(call, 0) + (1 if leads else -lost)
        return won > 0

    def _caller(self, frame: FrameType | None) -> tuple[FrameType | None, bool]:
        """The frame that called the function, and whether it is a line of the program's own.

        It usually is; a call that compiles comes through the framework's frames.
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
    """A hash of the calls on the stack."""
    path = 0
    while frame is not None:
        path = hash((path, id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    return path
