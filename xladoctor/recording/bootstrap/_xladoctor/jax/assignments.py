"""Finds the line that assigned an argument of a call to a variable of the program.

The line of the call shows which argument made it compile; the line to change is often the one that
made the argument. The variables of the frames on the stack are searched for the same object, and
the code of their frame for the lines that assign to them.
"""

from __future__ import annotations

import dis
import inspect
import sys
from types import CodeType, FrameType
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from ..call_site import USER, line_of
from ..census import variables_of

_FRAMES = 8  # frames of the program that are searched
_HELD = 4096  # objects in the containers of all variables
_CONTAINERS: tuple[Any, ...] = (dict, list, tuple)


class Place(NamedTuple):
    """A line of the program."""

    file: str
    line: int
    function: str


class Assignments:
    """Searches the current stack."""

    def __init__(self, kind: Callable[[str], int]) -> None:
        """``kind``: classifies a file, see :mod:`..call_site`."""
        self._kind = kind
        self._lines: dict[CodeType, dict[str, list[int]]] = {}

    def places(self, objects: Iterable[Any]) -> dict[int, Place]:
        """For the id of each object, the line that assigned it to the nearest variable.

        A variable may hold it in containers. One that the call's own line assigns to is ignored.
        The value of a parameter comes from the caller: from one of its variables, or else from the
        line that passes it.
        """
        wanted = {id(each) for each in objects}
        found: dict[int, Place] = {}
        passed: set[int] = set()
        by_callers: dict[int, Place] = {}
        left = [_HELD]
        for frame in self._frames():
            by_callers.update(dict.fromkeys(passed, Place(*line_of(frame.f_code, frame.f_lineno))))
            passed.clear()
            for name, value in variables_of(frame):
                known = wanted.intersection(_held(value, left)) - found.keys()
                place = self._place(frame, name) if known else None
                if place is not None:
                    found.update(dict.fromkeys(known, place))
                elif name in _parameters(frame.f_code):
                    passed |= known
        return {**by_callers, **found}

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(2)
        left = _FRAMES
        while frame is not None and left:
            if self._kind(frame.f_code.co_filename) == USER:
                left -= 1
                yield frame
            frame = frame.f_back

    def _place(self, frame: FrameType, name: str) -> Place | None:
        """The last line before the current one that assigns to a variable; or else the last of
        all, from which a loop has come back.
        """
        code, now = frame.f_code, frame.f_lineno
        if code not in self._lines:
            self._lines[code] = _assignments(code)
        lines = [line for line in self._lines[code].get(name, ()) if line != now]
        if not lines:
            return None
        line = max((line for line in lines if line < now), default=max(lines))
        return Place(*line_of(code, line))


def _parameters(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def defined(code: CodeType | None) -> Place | None:
    """The place of a function that is defined within another; None for one at module level."""
    if code is None:
        return None
    place = Place(*line_of(code, code.co_firstlineno))
    made = "<locals>" in place.function or code.co_name == "<lambda>"
    return place if made else None


def made_on_the_stack(body: Any) -> Place | None:
    """Where a function that JAX traced was made, if the call that made it is still running."""
    debug_info = getattr(getattr(body, "jaxpr", body), "debug_info", None)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and debug_info is not None:
        code = frame.f_code
        for made in code.co_consts:
            if (
                isinstance(made, CodeType)
                and made.co_firstlineno == debug_info.func_lineno
                and made.co_filename == debug_info.func_filename
                and (code.co_flags & inspect.CO_OPTIMIZED or made.co_name == "<lambda>")
            ):
                return Place(code.co_filename, made.co_firstlineno, code.co_name)
        frame = frame.f_back
    return None


def _held(value: Any, left: list[int]) -> Iterator[int]:
    """The ids of an object and of what it contains, until ``left`` is used up."""
    yield id(value)
    for kind in _CONTAINERS:
        if issubclass(type(value), kind) and left[0] > 0:  # asks the object itself nothing
            left[0] -= kind.__len__(value)
            for each in dict.values(value) if kind is dict else kind.__iter__(value):
                yield from _held(each, left)


def _assignments(code: CodeType) -> dict[str, list[int]]:
    """The lines that assign to each variable, or to an attribute of it."""
    lines: dict[str, list[int]] = {}
    line, loaded = code.co_firstlineno, ""
    for step in dis.get_instructions(code):
        line = (step.positions.lineno if step.positions else None) or line
        # Python 3.13 merges two instructions into one: STORE_FAST_LOAD_FAST
        names = [*step.argval] if isinstance(step.argval, tuple) else [step.argval]
        assigned = [loaded] if step.opname == "STORE_ATTR" else names
        if step.opname.startswith("STORE_") and step.opname != "STORE_SUBSCR":
            for name in assigned:
                lines.setdefault(str(name), []).append(line)
        loaded = str(names[-1]) if names and "LOAD_" in step.opname else ""
    return lines
