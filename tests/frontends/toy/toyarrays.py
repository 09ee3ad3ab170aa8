"""A small framework: operations are recorded, ``sync`` compiles what is new and has a
device of its own compute it, and ``Array.item`` waits for that.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

_COMPILE_S = 0.05
_RUN_S = 0.004
__version__ = "0.1"
#: When each compilation ended, in seconds since 1970, and how many nanoseconds it took.
compilations: list[tuple[float, float]] = []
#: Graphs that the device was given, and that were compiled before.
launched_again: list[tuple[int, ...]] = []
_device = ThreadPoolExecutor(1)
_recorded: list[Array] = []
_compiled: set[tuple[int, ...]] = set()


class Array:
    """Numbers on the device."""

    def __init__(self, values: list[float]) -> None:
        self._values: Future[list[float]] = Future()
        self._values.set_result(values)
        self.size = len(values)

    def __add__(self, other: Array) -> Array:
        result = Array([0.0] * self.size)
        result._values = Future()
        result._operands = (self, other)
        _recorded.append(result)
        return result

    def item(self) -> float:
        """The first number."""
        return self._values.result()[0]


def array(values: list[float]) -> Array:
    """Send numbers to the device."""
    return Array(values)


def sync() -> None:
    """Have the device compute what was recorded."""
    graph = tuple(each.size for each in _recorded)
    if graph not in _compiled:
        began = time.perf_counter()
        time.sleep(_COMPILE_S)
        _compiled.add(graph)
        compilations.append((time.time(), (time.perf_counter() - began) * 1e9))
    else:
        launched_again.append(graph)
    work, _recorded[:] = list(_recorded), []
    _device.submit(_compute, work)


def _compute(work: list[Array]) -> None:
    time.sleep(_RUN_S)
    for each in work:
        left, right = (operand._values.result() for operand in each._operands)
        each._values.set_result([a + b for a, b in zip(left, right, strict=True)])
