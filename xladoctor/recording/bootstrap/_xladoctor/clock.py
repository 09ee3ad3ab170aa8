"""Clocks and sleep; see :mod:`.originals` for why a program cannot replace them.

Instants are wall-clock times, comparable with the framework's own, but without jumps: setting the
clock while the program runs does not change durations between them.
"""

from __future__ import annotations

from time import monotonic, perf_counter, perf_counter_ns, sleep, thread_time_ns
from time import time_ns as wall_ns

__all__ = [
    "jumped_ns",
    "monotonic",
    "perf_counter",
    "perf_counter_ns",
    "sleep",
    "thread_time_ns",
    "time_ns",
    "wall_ns",
]

_JUMP_NS = 100_000_000  # no clock drifts that far between two calls

#: How far the wall clock is ahead of the monotonic one, and how far it has jumped.
_seen = [(wall_ns() - perf_counter_ns(), 0)]


def time_ns() -> int:
    """Nanoseconds since 1970, as if nobody had set the clock since the capture began."""
    ahead, jumped = _seen[0]
    now = perf_counter_ns()
    wall = wall_ns()
    if not -_JUMP_NS < wall - now - ahead < _JUMP_NS:
        now = perf_counter_ns()  # the thread may have been suspended between the two readings
        wall = wall_ns()
        if not -_JUMP_NS < wall - now - ahead < _JUMP_NS:
            jumped += wall - now - ahead
    _seen[0] = (wall - now, jumped)  # threads that find the same jump at once write the same
    return wall - jumped


def jumped_ns() -> int:
    """How far the wall clock has jumped so far."""
    time_ns()
    return _seen[0][1]
