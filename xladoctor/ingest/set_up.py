"""Finds steps that belong to a program's set-up, in frameworks without barriers.

A program that builds its model operation by operation comes back to some lines, with other shapes
each time, before its real loop or its only launch. That is not a loop. Nor is a library launching
the same operation for each of many arrays, which takes no noticeable time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xladoctor.facts.steps import CutStep, Step
from xladoctor.ingest.call_sites import CallSites
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.recording.bootstrap._xladoctor import facts
from xladoctor.recording.bootstrap._xladoctor.facts import Fact
from xladoctor.warmup import WARMUP

_COMPILE, _STEP, _CUT = decoded(facts.Compile), decoded(Step), decoded(CutStep)
_FEW = 10  # steps in which even a loop that compiles each time is in its warm-up
_SOME = 1000  # steps that may be over at once
_AT_ONCE = 0.05  # of the thread's time, compiling included: less of a loop is hardly missed


def sites_of_set_up(log: Iterable[Fact], sites: CallSites) -> frozenset[int | None]:
    """The call sites that ended steps although they are not in a loop.

    These are sites that ended few steps, launched the framework's operations rather than functions
    of the program, and never launched :data:`WARMUP` times in a row without compiling. (Next to a
    loop with many steps, calls of what another line compiled do count as a loop.) Also sites of
    single operations whose steps take next to none of the time.

    Args:
        log: the lines of the step log; taken only if needed.
        sites: the call sites of the process.
    """
    ended = {
        launch.site: launch.steps
        for launch in sites.launched
        if launch.steps and launch.site not in sites.light
    }
    few = {site for site, steps in ended.items() if steps < _FEW}
    some = {site for site, steps in ended.items() if _FEW <= steps < _SOME and sites[site].via}
    if not few and not some:
        return frozenset()
    read = _Read()
    for line in log:
        read.line(line)
    operations = read.operations | {site for site in few if sites[site].via}
    loops = read.own | read.settled
    brief = {site for site in some - read.own if read.is_over_at_once(site)}
    alone = few == ended.keys() - brief
    return frozenset(brief | (few - loops if alone else few & operations - loops))


class _Read:
    """What the step log shows about the call sites that ended steps.

    Attributes:
        own: sites that launched functions of the program.
        operations: sites that compiled.
        settled: sites that launched :data:`WARMUP` times without compiling.
    """

    def __init__(self) -> None:
        self.own: set[int | None] = set()
        self.operations: set[int | None] = set()
        self.settled: set[int | None] = set()
        self._clean: Counter[int | None] = Counter()
        self._spent: dict[int | None, int] = {}
        self._whole = 0
        self._compiled = False

    def line(self, line: Fact) -> None:
        """Take the next line."""
        if isinstance(line, _COMPILE):
            self._compiled = True
            self.operations.add(line.site)
            if line.defined is not None or line.function is None:
                self.own.add(line.site)
        elif isinstance(line, _STEP) and not isinstance(line, _CUT):
            self._whole += line.duration_ns
            if type(line) is _STEP:
                self._step(line)

    def _step(self, line: Step) -> None:
        if line.site in self._spent:
            self._spent[line.site] += line.duration_ns
        else:  # with all that came before
            self._spent[line.site] = 0
        self._clean[line.site] = 0 if self._compiled else self._clean[line.site] + line.barriers
        self._compiled = False
        if self._clean[line.site] >= WARMUP:
            self.settled.add(line.site)

    def is_over_at_once(self, site: int | None) -> bool:
        """Whether the site's steps took next to none of the time."""
        return self._spent.get(site, 0) < _AT_ONCE * self._whole
