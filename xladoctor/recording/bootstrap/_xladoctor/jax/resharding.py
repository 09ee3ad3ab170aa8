"""Arguments that a call has to bring to another sharding before it can launch.

JAX asks Python for that (``pxla.cc_shard_arg``) only where an argument is not as the executable
wants it: a program whose arguments are in place never comes here. Arrays of the host are uploads,
and left out; so are arrays that are new in each call.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, Callable

from .. import clock
from ..disguise import hide_frames
from .argument_use import dynamic
from .constants import size_of

_LARGE = 1 << 20  # bytes
_FEW, _MOST = 4, 64  # calls that make a record, then twice as many, …; arrays at once
_NEW = 32  # arrays of a line that are looked for among its arguments

_clock = clock.perf_counter_ns


class _Argument:
    """An array that a line passes again and again, or so it may."""

    def __init__(self, array: Any, number: int, began: int) -> None:
        self.array = weakref.ref(array)
        self.number = number
        self.began = began
        self.calls = self.spent = 0


class Resharding:
    """Remembers what was resharded until the call returns.

    Attributes:
        pending: the arrays, where they had to go, and how long that took, in ns.
    """

    def __init__(self, leaves: Callable[[Any], list[Any]]) -> None:
        self.pending: list[tuple[Any, Any, int]] = []
        self._leaves = leaves
        self._known: dict[tuple[int | None, int], _Argument] = {}
        self._new: dict[int | None, int] = {}

    def wrap(self, original: Any) -> Any:
        """Wrap the function that brings one argument to a sharding."""

        def cc_shard_arg(x: Any, sharding: Any, *args: Any) -> Any:
            begin = _clock()
            try:
                result = original(x, sharding, *args)
            except BaseException as error:
                hide_frames(error)
                raise
            try:
                large = hasattr(type(x), "is_deleted") and size_of(x) >= _LARGE
                if large and len(self.pending) < _MOST:
                    self.pending.append((x, sharding, _clock() - begin))
            except Exception:  # a release whose arrays are otherwise
                self.pending.clear()
            return result

        return cc_shard_arg

    def called(
        self, site: int | None, function: Any, args: Any, kwargs: Any
    ) -> list[dict[str, Any]]:
        """Called when a call has returned; returns what is known now, each as the fields of an
        :class:`~..argument_facts.ArgumentReshard`.
        """
        pending, given = self.pending[:], None
        self.pending.clear()
        found = []
        for array, sharding, spent in pending:
            known = self._known.get((site, id(array)))
            if known is None or known.array() is not array:
                if self._new.get(site, 0) >= _NEW:
                    continue
                self._new[site] = self._new.get(site, 0) + 1
                given = given or self._leaves(dynamic(function, args, kwargs))
                number = next((n for n, each in enumerate(given) if each is array), None)
                if number is None:
                    continue
                known = self._known[site, id(array)] = _Argument(array, number, _clock())
                continue  # the first call may be before the loop
            known.calls += 1
            known.spent += spent
            if known.calls >= _FEW and not known.calls & (known.calls - 1):
                found.append(_fields(known, function, array, sharding))
        return [{**each, "site": site} for each in found]


def _fields(known: _Argument, function: Any, array: Any, sharding: Any) -> dict[str, Any]:
    return {
        "compiled": str(getattr(function, "__name__", "")),
        "number": known.number,
        "calls": known.calls,
        "bytes": size_of(array),
        "sent_bytes": _sent(array, sharding),
        "before": _words(array.sharding, getattr(array, "committed", True)),
        "after": _words(sharding),
        "duration_ns": known.spent,
        "span_ns": _clock() - known.began,
    }


def _sent(array: Any, sharding: Any) -> int:
    part = math.prod(sharding.shard_shape(array.shape)) * array.dtype.itemsize
    return int(part * len(sharding.device_set))


def _words(sharding: Any, committed: bool = True) -> str:
    """A sharding as code has it, or in words."""
    spec, devices = getattr(sharding, "spec", None), [*sharding.device_set]
    if spec is not None:
        return f"P({', '.join(map(repr, spec))})"
    if len(devices) == 1:
        one = f"on one device, {devices[0].platform.upper()}:{devices[0].id}"
        return one if committed else f"{one}, where arrays are made by default"
    return str(sharding)[:200]
