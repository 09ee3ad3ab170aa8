"""Clocks and pauses as they were when the capture began: tests of programs patch :mod:`time`."""

from time import (
    monotonic,
    perf_counter,
    perf_counter_ns,
    sleep,
    time,
    time_ns,
)

__all__ = [
    "monotonic", "perf_counter", "perf_counter_ns", "sleep", "time", "time_ns",
]  # fmt: skip
