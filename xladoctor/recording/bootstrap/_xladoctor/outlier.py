"""Finds steps that take much longer than usual, for no reason in the step log."""

from __future__ import annotations

_LEARN = 50  # steps before any is judged
_TIMES = 5  # times the usual: on a busy machine steps easily take twice as long
_LONGER_NS = 100_000_000  # longer than usual; less is not worth a second window
_RATE = 0.05  # how far the running median moves at a step
_RATE_AT_FIRST = 0.2


class StepTimes:
    """A running median of a thread's steps."""

    def __init__(self) -> None:
        self.typical_ns = 0.0
        self._seen = 0

    def is_outlier(self, nanoseconds: int) -> bool:
        """Whether a step is an outlier, given its duration without compilation and saves."""
        self._seen += 1
        if self._seen == 1:
            self.typical_ns = float(nanoseconds)
            return False
        longer = nanoseconds > self.typical_ns
        rate = _RATE if self._seen > _LEARN else _RATE_AT_FIRST
        self.typical_ns *= 1 + (rate if longer else -rate)
        return (
            self._seen > _LEARN
            and nanoseconds > _TIMES * self.typical_ns
            and nanoseconds - self.typical_ns > _LONGER_NS
        )
