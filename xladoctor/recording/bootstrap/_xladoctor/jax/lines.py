"""Finds the lines of the program that a function's equations come from, as JAX traced it.

Tracing, lowering and compiling take longer the more equations there are. A Python loop inside a
jitted function is unrolled: each iteration is traced. XLA may fold all of them into a few
instructions that do not show the loop, but what it was given does.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Callable, Iterator, NamedTuple

from ..call_site import FRAMEWORK, MACHINERY, OURS, USER, line_of
from .assignments import Place
from .constants import size_of

_MOST_VISITED = 100_000  # equations; a visit takes some microseconds
_MOST_LINES = 16  # that are recorded, those with most equations first
_LEAST = 50  # copies of one equation that make a loop
_ALIKE = 0.8  # an iteration's other equations have at least this share of its copies


class Line(NamedTuple):
    """What comes from one line.

    Attributes:
        place: the innermost line of the program; None if none led there.
        equations: how many.
        op: the most frequent of them: JAX's name of the operation.
        copies: how often it makes results of one shape and type.
        constants: bytes of the function's constants that it uses first.
    """

    place: Place | None
    equations: int
    op: str
    copies: int
    constants: int


class Repeated(NamedTuple):
    """The equations of a line that is gone through many times.

    Attributes:
        part: the share of the function's that is repeated about as often.
    """

    place: Place
    op: str
    copies: int
    equations: int
    part: float


class Traced(NamedTuple):
    """A function's equations; those of a function called several times, or inlined, each time.

    Attributes:
        complete: whether all were visited.
        lines: those with most equations.
        repeated: the line with the most copies of one, if there are many and the line is the
            program's own.
    """

    equations: int
    complete: bool
    lines: list[Line]
    repeated: Repeated | None


class At(NamedTuple):
    """Where an equation comes from: a line of the program, and whether it is the innermost one that
    is not the framework's.
    """

    place: Place | None
    own: bool


_Counts = Counter[tuple[At, str, Any]]  # place, operation, type of the result


def traced(closed: Any, kind: Callable[[str], int]) -> Traced:
    """The lines of a function.

    Args:
        closed: its jaxpr, with constants.
        kind: classifies a file, see :mod:`..call_site`.
    """
    visitor = _Visitor(kind)
    counts = visitor.count(closed.jaxpr, None)
    constants = visitor.constants(closed)
    equations = sum(counts.values())
    of: dict[Place | None, _Counts] = {None: Counter()}
    for (at, op, kept), count in counts.items():
        of.setdefault(at.place, Counter())[at, op, kept] = count
    lines = [
        Line(place, sum(those.values()), op, copies, constants[place])
        for place, those in of.items()
        for (_, op, _), copies in those.most_common(1)
    ]
    lines.sort(key=lambda line: (line.equations, line.constants), reverse=True)
    repeated = _repeated(counts, equations)
    return Traced(equations, visitor.left > 0, lines[:_MOST_LINES], repeated)


def named_as(closed: Any, function: str) -> bool:
    """Whether a jaxpr is of a function of this name: of several that were lowered, another may be
    compiled first.
    """
    name = str(getattr(getattr(closed.jaxpr, "debug_info", None), "func_name", ""))
    same = {re.sub(r"\W", "_", each).strip("_") for each in (name, function)}
    return len(same) == 1


def _repeated(counts: _Counts, equations: int) -> Repeated | None:
    """The line of the iterations that most equations are of: an iteration may have some twice."""
    explained: Counter[int] = Counter()
    for copies in counts.values():
        explained[copies] += copies * (copies >= _LEAST)
    places = (
        (explained[copies], -copies, -at.place.line, op, at.place)
        for (at, op, _), copies in counts.items()
        if copies >= _LEAST and at.own and at.place is not None
    )
    found = max(places, default=None)
    if found is None:
        return None
    copies, op, place = -found[1], *found[3:]
    alike = sum(other for other in counts.values() if other >= _ALIKE * copies)
    return Repeated(place, op, copies, equations, alike / equations)


class Places:
    """The lines of the program that equations come from.

    Args:
        kind: classifies a file, see :mod:`..call_site`.
    """

    def __init__(self, kind: Callable[[str], int]) -> None:
        self._kind = kind
        self._places: dict[tuple[int, int], Place] = {}

    def at(self, traceback: Any) -> At:
        """Where a traceback leads to."""
        own = True
        codes, offsets = ((), ()) if traceback is None else traceback.raw_frames()
        for code, offset in zip(codes, offsets):
            kind = self._kind(code.co_filename)
            if kind == USER:
                key = id(code), int(offset)
                if key not in self._places:
                    line = traceback.code_addr2line(code, offset)
                    self._places[key] = Place(*line_of(code, line))
                return At(self._places[key], own)
            own = own and kind in (FRAMEWORK, MACHINERY, OURS)
        return At(None, False)


class _Visitor:
    """Visits equations, each jaxpr once.

    Attributes:
        left: how many more may be visited.
    """

    def __init__(self, kind: Callable[[str], int]) -> None:
        self.left = _MOST_VISITED
        self._kind = kind
        self._known: dict[tuple[int, At | None], _Counts] = {}
        self._at = Places(kind).at

    def count(self, jaxpr: Any, within: At | None) -> _Counts:
        """How many equations of a kind come from each line.

        Args:
            within: the line of the call of a function of the framework: JAX keeps what it traced of
                such a function, with the lines of the first call.
        """
        known = self._known.get((id(jaxpr), within))
        if known is not None:
            self.left -= len(known)
            return known
        counts = self._known[id(jaxpr), within] = Counter()
        for equation in jaxpr.eqns:
            self.left -= 1
            if self.left <= 0:
                break
            at = within or self._at(equation.source_info.traceback)
            inner = [*inner_of(equation.params)]
            if not inner:
                of = equation.outvars[0].aval if equation.outvars else None
                counts[at, equation.primitive.name, of] += 1
            for each in inner:
                counts.update(self.count(each, within or (at if self._is_kept(each) else None)))
        return counts

    def constants(self, closed: Any) -> Counter[Place | None]:
        """The bytes of constants that each line uses first."""
        sizes = {
            id(var): size_of(const) for var, const in zip(closed.jaxpr.constvars, closed.consts)
        }
        found: Counter[Place | None] = Counter()
        for equation in closed.jaxpr.eqns if sizes else ():
            used = sum(sizes.pop(id(var), 0) for var in equation.invars)
            if used:
                found[self._at(equation.source_info.traceback).place] += used
            if not sizes:
                break
        return found

    def _is_kept(self, jaxpr: Any) -> bool:
        """Whether it is of a function of the framework."""
        about = getattr(jaxpr, "debug_info", None)
        file = str(getattr(about, "func_src_info", "")).rpartition(" at ")[2].rpartition(":")[0]
        return bool(file) and self._kind(file) == FRAMEWORK


def inner_of(params: dict[str, Any]) -> Iterator[Any]:
    """The jaxprs that an equation calls."""
    for value in params.values():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(each, "jaxpr", each)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr
