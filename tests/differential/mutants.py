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
from xladoctor.fixes.interface import Change, Edit, Position

Fix = Callable[[Case], Change]
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
    """The kind with the line below its last edit lost."""

    def fix(case: Case) -> Change:
        change = registry.kind(kind)(case)
        *others, last = sorted(change.edits)
        lines = case.source.text.split("\n")
        below = last.end.line + (last.end.column > 0)
        end = Position(below, len(lines[min(below, len(lines)) - 1]))
        return replace(change, edits=(*others, Edit(last.begin, end, last.text.rstrip("\n"))))

    return fix


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
