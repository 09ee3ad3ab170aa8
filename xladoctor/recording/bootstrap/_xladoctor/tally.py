"""Counts of what has happened in the process so far, read in about a microsecond.

An expectation (``xladoctor.expect``) compares the counts at the two ends of a block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from . import clock
from .call_site import CallSites, Place
from .framework import Probe
from .frontend import Counters
from .recorder import Recorder

_A_LOOK_NS, _A_CALL_NS = 15_000, 20_000  # cost of a probe, and of each call that it examines
_SHARE = 200  # the probe may take half a percent of the time


class Counts(NamedTuple):
    """Counts up to an instant of the wall clock.

    Attributes:
        waits: saves, and reads outside of step closures, by call site and kind.
        fallbacks: fallbacks by operator, as the framework counts them.
        lines: fallbacks that the probe saw, by operator and call site.
    """

    at_ns: int
    compiled: int
    waits: dict[tuple[int | None, str], int]
    fallbacks: dict[str, int]
    lines: dict[tuple[str, int | None], int]

    @property
    def numbers(self) -> tuple[Any, ...]:
        """All counts that an expectation can be about."""
        return self[1:4]


class Tally:
    """The counts of one process."""

    def __init__(
        self, counters: Counters, recorder: Recorder, probe: Probe, sites: CallSites
    ) -> None:
        self._counters = counters
        self._recorder = recorder
        self._probe = probe
        self._sites = sites
        self._began = clock.perf_counter_ns()
        self._looks = 0
        #: The counts before anything happened.
        self.at_start = Counts(clock.time_ns(), 0, {}, {}, {})

    @property
    def off(self) -> bool:
        """Whether counting has ended, with the capture or by a fault of it."""
        return self._recorder.off

    def counts(self) -> Counts:
        """The current counts."""
        recorder, counters = self._recorder, self._counters
        recorder.compilations.settle(recorder.thread())
        fallbacks = {
            name: counters.value(name) or 0
            for name in counters.fallbacks()
            if name not in counters.reads
        }
        lines = {key: row[0] for key, row in self._probe.rows.copy().items()} if fallbacks else {}
        compiled, waits = recorder.compilations.count, dict(recorder.waits)
        return Counts(clock.time_ns(), compiled, waits, fallbacks, lines)

    def look(self) -> bool:
        """Look for the lines of fallbacks until the next barrier, unless that has cost too much.

        Returns whether it looks, so that :meth:`look_away` has to be called.
        """
        spent = self._looks * _A_LOOK_NS + self._probe.calls * _A_CALL_NS
        if spent * _SHARE > clock.perf_counter_ns() - self._began:
            return False
        self._looks += 1
        return self._probe.begin(self._recorder.thread())

    def look_away(self) -> None:
        """End the search at the end of the block, unless a barrier has ended it."""
        self._probe.end(self._recorder.thread())

    def place(self, site: int | None) -> Place | None:
        """The place of a call site."""
        return None if site is None else self._sites.rows[site]
