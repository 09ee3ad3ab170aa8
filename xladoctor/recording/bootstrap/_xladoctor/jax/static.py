"""Values that are compiled into a program: static arguments, and static fields of trees.

JAX compares them by ``==`` and ``hash``. A function, or an object of a class without ``__eq__``, is
equal only to itself: another one made in the same way has the same text, except for an address.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..disguise import pass_on
from ..redaction import redact_text

_TEXT = 160  # characters of a value that are shown
_COMPARED = 20_000  # characters that are compared
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Static(NamedTuple):
    """A static value.

    Attributes:
        text: its ``repr``, without addresses.
        hash: its hash; None if it is not hashable.
    """

    text: str
    hash: int | None = None

    @property
    def shown(self) -> str:
        """The text, shortened, without secrets."""
        return short(self.text)


def static(value: Any) -> Static:
    """The text and hash of a static argument; a callable's text is its name."""
    try:
        return Static(_text(value), hash(value))
    except Exception as error:  # the program's own code may raise anything
        pass_on(error)
        return Static(f"<{type(value).__name__}>")


def without_addresses(text: str) -> str:
    """The part of a text that is the same for objects made in the same way."""
    return _ADDRESS.sub("", text)[:_COMPARED]


def short(text: str) -> str:
    """The start of a text, as it is shown."""
    text = redact_text(text)
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def is_jaxpr(value: Any) -> bool:
    """Whether it is a function as JAX has traced it."""
    return "Jaxpr" in type(value).__name__


def _text(value: Any) -> str:
    if hasattr(value, "shape") or is_jaxpr(value):  # its text would be long and slow to make
        return type(value).__name__
    name = getattr(value, "__qualname__", None)
    text = str(name) if callable(value) and name else repr(value)
    return without_addresses(re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", text))  # np.int64(3)
