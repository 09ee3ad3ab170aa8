"""Counts compilations, and how long each thread waited for them.

The framework's counters are per process. When threads compile concurrently, each is charged with
all compilations, but never with more than the time its own call took.
"""

from __future__ import annotations

import threading
from typing import Any, Callable

from . import clock
from .facts import Compile, Fact
from .frontend import Counters
from .step import ThreadState

_RECENT = 256


class Compilations:
    """Counts and logs what was compiled since a thread's last call."""

    def __init__(self, counters: Counters, log: Callable[[Fact], None]) -> None:
        self._begun = counters.compiled
        self._relaunched = counters.relaunched
        self._times = counters.compile_times
        self._log_fact = log
        self._lock = threading.Lock()
        self._recent: list[tuple[int, float]] = []  # number and nanoseconds of each
        self._timed = 0
        self.count = 0  # since the capture began

    def forget_the_past(self) -> None:
        """Leave out what was compiled before the capture."""
        self._timed = self._times()[0]

    def are_new(self, state: ThreadState) -> bool:
        """Whether anything was compiled since :meth:`note` was last called for the thread."""
        return (self._begun() or 0) != state.compiled

    def under_way(self) -> bool:
        """Whether a compilation is running: begun ones are counted at once, timed when they end."""
        timed, begun = self._times()[0], self._begun() or 0
        return self._timed <= timed < begun and timed > 0  # or the program cleared its metrics

    def ended(self) -> int:
        """How many compilations have ended since the capture began, noted or not."""
        return self.count + max(0, self._times()[0] - self._timed)

    def launched(self, state: ThreadState) -> int:
        """Graphs that the process has launched so far; call it right after :meth:`note`."""
        return state.compiled + (self._relaunched() or 0)

    def settle(self, state: ThreadState) -> None:
        """Note what was compiled before the coming call, outside of any timed call."""
        if self.are_new(state):
            since = clock.perf_counter_ns() - state.step.begin
            self.note(state, "other", None, since)

    def note(self, state: ThreadState, during: str, site: int | None, within: int) -> int:
        """Log what was compiled since the last call.

        Args:
            during: the call that compiled: ``barrier``, ``read``, ``save`` or ``other``.
            within: nanoseconds that the call took.

        Returns:
            How many of these nanoseconds the thread waited for compilations.
        """
        begun = self._begun() or 0
        if begun == state.compiled:
            return 0
        state.compiled = begun
        self._log(state, during, site)
        fresh = [ns for number, ns in self._recent if number > state.checked]
        state.checked = max(state.checked, self.count)
        spent = min(int(sum(fresh)), within)
        state.step.compilations += len(fresh)
        state.step.compile_ns += spent
        return spent

    def cut_short(self, state: ThreadState) -> None:
        """Log the compilation that the program's end cuts short: it began after the thread's last
        launch.
        """
        if self.under_way():
            spent = clock.perf_counter_ns() - state.step.begin
            state.step.compilations += 1
            state.step.compile_ns += spent
            during = state.inside if state.inside in ("barrier", "read", "save") else "other"
            self._log_fact(
                Compile(
                    thread=state.id,
                    step=state.index,
                    site=None,
                    during=during,
                    end_ns=clock.time_ns(),
                    duration_ns=spent,
                )
            )

    def log_ended(self, state: ThreadState, until: int) -> None:
        """Log compilations that were not noted by any call, for this thread.

        Args:
            until: the number of the last one to log; it has ended.
        """
        if until > self.count:
            self._log(state, "other", None, until)

    def _log(
        self, state: ThreadState, during: str, site: int | None, until: int | None = None
    ) -> None:
        with self._lock:
            timed, _, samples = self._times()
            self._timed = min(self._timed, timed)  # the program cleared them
            unlogged = timed - self._timed
            fresh = unlogged if until is None else max(0, min(unlogged, until - self.count))
            self._timed += fresh
            self.count += fresh
            first = len(samples) - unlogged  # negative if the framework has dropped some
            new = samples[max(0, first) : max(0, first + fresh)]
            numbered = enumerate((ns for _, ns in new), self.count - len(new) + 1)
            self._recent = [*self._recent, *numbered][-_RECENT:]
        jumped = clock.jumped_ns() if new else 0
        for ended, nanoseconds in new:
            self._log_fact(
                Compile(
                    thread=state.id,
                    step=state.index,
                    site=site,
                    during=during,
                    end_ns=int(ended * 1e9) - jumped,
                    duration_ns=int(nanoseconds),
                )
            )


class ReportedCompilations(Compilations):
    """For a framework that reports each compilation, on the thread that waits for it."""

    def record(
        self,
        state: ThreadState,
        during: str,
        site: int | None,
        spent: int,
        details: dict[str, Any],
        waited: int | None = None,
    ) -> int:
        """Record and log a compilation that has ended.

        Args:
            during: the call that compiled: ``launch``, or as for :meth:`note`.
            spent: nanoseconds.
            details: other fields of :class:`~.facts.Compile`.
            waited: how many of them the thread waited; all by default.

        Returns:
            The compilation's number, from 1.
        """
        with self._lock:
            self.count += 1
            number = self.count
        state.step.compilations += 1
        self.add_time(state, spent if waited is None else waited)
        fields = {"step": state.index, "end_ns": clock.time_ns(), **details}
        self._log_fact(
            Compile(thread=state.id, site=site, during=during, duration_ns=spent, **fields)
        )
        return number

    def add_time(self, state: ThreadState, spent: int) -> None:
        """Add nanoseconds of compiling that do not count as a compilation of their own."""
        state.compiling += spent
        state.step.compile_ns += min(spent, clock.perf_counter_ns() - state.step.begin)

    def forget_the_past(self) -> None: ...

    def are_new(self, state: ThreadState) -> bool:
        return bool(state.compiling)

    def under_way(self) -> bool:
        return (self._begun() or 0) > self._times()[0]

    def ended(self) -> int:
        return self.count

    def launched(self, state: ThreadState) -> int:
        return self._relaunched() or 0

    def settle(self, state: ThreadState) -> None:
        state.compiling = 0

    def note(self, state: ThreadState, during: str, site: int | None, within: int) -> int:
        spent, state.compiling = state.compiling, 0
        return min(spent, within)

    def cut_short(self, state: ThreadState) -> None: ...

    def log_ended(self, state: ThreadState, until: int) -> None: ...
