"""The kinds of fixes: each module in ``kinds/`` is one, by its name.

It has a function ``fix(case)`` that returns a :class:`~xladoctor.fixes.interface.Change`, or raises
:class:`~xladoctor.fixes.interface.Refused`. Rules name kinds with ``fix_by``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from xladoctor.fixes import kinds
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change


@cache
def names() -> frozenset[str]:
    """The names of all kinds."""
    return frozenset(module.name for module in iter_modules(kinds.__path__))


def kind(name: str) -> Callable[[Case], Change]:
    """A kind of fix by its name."""
    module = import_module(f"{kinds.__name__}.{name}")
    found: Callable[[Case], Change] = module.fix
    return found
