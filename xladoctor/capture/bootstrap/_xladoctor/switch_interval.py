"""How soon Python takes the interpreter from a thread when another one waits for it.

After 5 ms, Python says by default. A sampler that waits that long mostly gets it before, when the
sampled thread enters an operator, and would blame the operator for the plain Python before it.
As long as no two threads of the program compete for the interpreter, a shorter interval changes
nothing for the program; when they do, the program's own interval is left in force.
"""

from __future__ import annotations

import sys
import time
from typing import Collection

_SHORT_S = 1e-5  # in effect some 60 µs, as systems round pauses up
_PROMPT_S = 5e-4
_FADING = 0.9  # a sample: ten samples ago count for a third
_COMPETING = 0.1  # of a processor, by the thread that uses the second most
_MAX_THREADS = 16  # of which it is asked at each sample


class SwitchInterval:
    """Shortens the interval while only one thread of the program runs, from sample to sample."""

    def __init__(self) -> None:
        self._program_s = sys.getswitchinterval()
        self._short_s: float | None = None  # as Python rounds it, while it is in force
        self._competition = 0.0
        self._asked_s = 0.0
        self._used_s: dict[int, float] = {}
        self._clocks: dict[int, int] = {}

    def adjust(self, threads: Collection[int]) -> None:
        """Choose the interval until the next sample from what the program's threads did.

        Args:
            threads: idents of the threads that run Python code. They must be alive, which those
                with a frame are for as long as the interpreter is held.
        """
        second = 0.0 if len(threads) < 2 else self._second_share(threads)
        self._competition += (1 - _FADING) * (second - self._competition)
        if self._competition >= _COMPETING:
            self.restore()
        elif self._short_s is None and sys.getswitchinterval() == self._program_s:
            sys.setswitchinterval(_SHORT_S)
            self._short_s = sys.getswitchinterval()

    def _second_share(self, threads: Collection[int]) -> float:
        """Share of a processor that the thread with the second most used since the last time."""
        if len(threads) > _MAX_THREADS or not hasattr(time, "pthread_getcpuclockid"):
            return 1.0  # too dear, or impossible, to know
        now = time.perf_counter()
        elapsed, self._asked_s = now - self._asked_s, now
        used = {ident: self._cpu_s(ident) for ident in threads}
        shares = sorted((s - self._used_s.get(ident, s)) / elapsed for ident, s in used.items())
        self._used_s = used
        return shares[-2] if len(shares) > 1 else 0.0

    def _cpu_s(self, ident: int) -> float:
        try:
            return time.clock_gettime(self._clocks[ident])
        except (KeyError, OSError):  # a new thread, maybe with the ident of one that ended
            self._clocks[ident] = time.pthread_getcpuclockid(ident)
            return time.clock_gettime(self._clocks[ident])

    def restore(self) -> None:
        """Put the program's own interval into force, unless it has set another one itself."""
        if self._short_s is not None and sys.getswitchinterval() == self._short_s:
            sys.setswitchinterval(self._program_s)
        self._short_s = None

    def is_exact(self, late_s: float) -> bool:
        """Whether a sample that came so late was not put off until an operator."""
        return self._short_s is not None or not _PROMPT_S < late_s < self._program_s
