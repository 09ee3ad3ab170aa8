"""Unsound mutants of kinds of fixes, which generated programs have to find."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest import mock

from xladoctor.fixes import registry
from xladoctor.fixes.case import Case
from xladoctor.fixes.compose import applied
from xladoctor.fixes.interface import Change, Edit, Position

Fix = Callable[[Case], Change]
_ENDING = re.compile(r"(\w+ \+= 1|break)$")  # of a loop that would never end without it
_REFUSES = re.compile(r"_*refuse(_|$)")


def left_out(kind: str) -> Fix:
    """The kind without one of its edits, if it has several."""

    def fix(case: Case) -> Change:
        change = registry.kind(kind)(case)
        edits = sorted(change.edits)
        gone = len(case.source.text) % len(edits)
        return replace(change, edits=tuple(edits[:gone] + edits[gone + 1 :] or edits))

    return fix


def careless(kind: str) -> Fix:
    """The kind with a line below its last edit lost: the first without which it still compiles
    and ends.
    """

    def fix(case: Case) -> Change:
        change = registry.kind(kind)(case)
        last = max(change.edits)
        lines = case.source.text.split("\n")
        for number in range(last.end.line + (last.end.column > 0), len(lines)):
            lost = Edit(Position(number, 0), Position(number + 1, 0), "")
            edits = (*change.edits, lost)
            line = lines[number - 1].strip()
            if not line or _ENDING.match(line):
                continue
            if _compiles(applied(case.source.text, edits)):
                return replace(change, edits=edits)
        return change

    return fix


def _compiles(text: str) -> bool:
    try:
        compile(text, "train.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


@contextlib.contextmanager
def blind() -> Iterator[None]:
    """All kinds without what refuses: functions and methods that are named so.

    All are imported before: a module that is first imported here would keep what is planted.
    """
    for kind in registry.names():
        registry.kind(kind)
    owners = [
        owner
        for name, module in list(sys.modules.items())
        if name.startswith("xladoctor.fixes")
        for owner in (module, *(each for _, each in inspect.getmembers(module, inspect.isclass)))
    ]
    with contextlib.ExitStack() as stack:
        for owner in owners:
            for name in [*vars(owner)]:
                if _REFUSES.match(name) and callable(getattr(owner, name)):
                    stack.enter_context(mock.patch.object(owner, name, return_value=None))
        yield
