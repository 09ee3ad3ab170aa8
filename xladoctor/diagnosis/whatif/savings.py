"""Computes from replays what a fix saves: per step and in the run, alone and after better fixes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from xladoctor.diagnosis.finding import Claim
from xladoctor.diagnosis.missing_processes import waiting_share
from xladoctor.diagnosis.whatif.claims import Applied, apply
from xladoctor.diagnosis.whatif.pace import at_the_pace_of
from xladoctor.diagnosis.whatif.program import COMPILE, Program, read_program
from xladoctor.diagnosis.whatif.rates import Rates, read_rates
from xladoctor.diagnosis.whatif.replay import Change, Outcome, replay
from xladoctor.evidence.database import Database

#: What the host does for most of the step -> what limits the step.
_LIMITS = {
    "compile": "compilation",
    "upload": "upload",
    "input": "input",
    "save": "checkpoint",
    "dispatch": "dispatch",
    "collective": "collectives",
    "tracing": "tracing",
    "other": "host",
}
_FULL = 0.85  # share of the step in which the device works: above, little else matters
_BUSY = 0.5  # share of the step in which the device works: above, waits are for its work
_ALIKE = 5.0  # factor by which the run's and the timeline's steps may differ in length
_MANY = 10  # barriers that are enough to know how long a step is


@dataclass(frozen=True, slots=True)
class Fix:
    """What the fix of a finding does, in which process, and how often the defect occurred.

    Attributes:
        settled: whether a longer run has no more of it; None if that is not known.
        at_most: how often it can happen in a run of any length, if known.
        outside_loop: whether it is before or after the loop.
    """

    process: int
    claims: Sequence[Claim]
    count: int
    settled: bool | None = False
    at_most: int | None = None
    outside_loop: bool = False

    @property
    def has_no_rate(self) -> bool:
        """Whether it may occur again, but not how often: it occurred once, or no longer does."""
        return self.settled is None or (self.count == 1 and not self.settled)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a fix saves, in seconds of the run.

    Attributes:
        steady_s: saved in steady steps.
        late_s: saved compiling after warm-up.
        warmup_s: saved compiling in warm-up.
        limited_by: what most of a step is spent on afterwards.
    """

    steady_s: float
    late_s: float
    warmup_s: float
    limited_by: str

    def projected(self, fix: Fix, steps: int, total: int) -> float:
        """The saving in a run of ``total`` steps, of which ``steps`` were captured."""
        more = 1.0 if fix.settled or fix.has_no_rate else total / steps
        if fix.at_most is not None and fix.count:
            more = min(more, max(1.0, fix.at_most / fix.count))
        return self.steady_s * total / steps + self.late_s * more + self.warmup_s

    @property
    def seconds(self) -> float:
        """The whole saving."""
        return self.steady_s + self.late_s + self.warmup_s

    def within(self, most: float | None) -> Estimate:
        """The estimate, scaled down if it is more than ``most`` seconds: a replay of a few steps,
        scaled to the run, can exceed what the defect costs in the run.
        """
        if most is None or self.seconds <= most:
            return self
        part = most / self.seconds
        return replace(
            self,
            steady_s=self.steady_s * part,
            late_s=self.late_s * part,
            warmup_s=self.warmup_s * part,
        )


class WhatIf:
    """Replays the processes of the evidence; a process without a timeline has no estimates."""

    def __init__(self, database: Database, records_steps: bool = True) -> None:
        """Args: ``records_steps``: as in the vocabulary of the program's frontend."""
        self._database = database
        self._records_steps = records_steps
        self._models: dict[int, _Model | None] = {}

    def model(self, process: int) -> _Model | None:
        """The model of a process; None if its timeline does not allow one."""
        if process not in self._models:
            program = read_program(self._database, process)
            rates = read_rates(self._database, process)
            waiting = waiting_share(self._database, process)
            made = None
            if program and rates:
                made = _Model(program, rates, self._records_steps, waiting)
            self._models[process] = made if made and made.is_of_one_loop else None
        return self._models[process]

    def estimate(self, fix: Fix) -> Estimate | None:
        """What a fix saves by itself; None if the timeline does not show it."""
        model = self.model(fix.process)
        return model.estimate(fix) if model else None

    def step_s(self, process: int) -> float | None:
        """A step of a process after warm-up, on average."""
        model = self.model(process)
        return model.rates.step_s if model else None

    def limited_by(self, process: int) -> str | None:
        """What most of a step of a process is spent on now."""
        model = self.model(process)
        return model.limit_after([]) if model else None

    def in_order(self, fixes: Sequence[Fix | None]) -> tuple[list[float | None], str | None]:
        """What each fix saves after those before it, in seconds; None if unknown.

        Also returns what limits the process of the first one after all fixes.
        """
        joined: dict[int, list[Fix]] = {}
        given: list[float | None] = []
        for fix in fixes:
            model = self.model(fix.process) if fix else None
            if fix is None or model is None:
                given.append(None)
                continue
            given.append(model.further(joined.setdefault(fix.process, []), fix))
            joined[fix.process].append(fix)
        if not joined:
            return given, None
        process, first = next(iter(joined.items()))
        model = self.model(process)
        return given, model.limit_after(first) if model else None


class _Model:
    """One process: its program, and how much of the run the program stands for."""

    def __init__(self, program: Program, rates: Rates, records_steps: bool, waiting: float) -> None:
        """Args: ``waiting``: share of the device's time that is no work; see
        :func:`.missing_processes.waiting_share`.
        """
        regions = rates.regions_s
        rest_s = max(0.0, rates.steady_s - sum(regions.values()))
        self.program = at_the_pace_of(program, regions, rest_s) if regions else program
        self.rates = rates
        self._records_steps = records_steps
        self._waiting = waiting

    @property
    def is_of_one_loop(self) -> bool:
        """Whether the timeline shows steps of the longest loop: with several threads it may show
        another's, whose times do not apply.
        """
        steps, barriers = len(self.program.steady), self.rates.barriers
        if self.rates.regions_s or barriers < _MANY or not steps:
            return True
        shown_s = self._steady_base.steady_ns() / 1e9 / steps
        return shown_s / _ALIKE <= self.rates.steady_s / barriers <= shown_s * _ALIKE

    @cached_property
    def base(self) -> Outcome:
        """The program as it was."""
        return replay(self.program, Change.none(self.program))

    def estimate(self, fix: Fix) -> Estimate | None:
        """What one fix saves."""
        applied = apply(self.program, fix.claims)
        late, warmup = self._compiled(fix)
        if not applied.present and not _compilations(fix) & self.rates.compilations.keys():
            return None
        outcome = self._steady(applied.change)
        saved = self._saved(self._steady_base, outcome) * self._frequency(applied, fix)
        left = self.rates.limiting_compile_s - self._limiting(late, warmup)
        return Estimate(saved, late, warmup, self._limit(outcome, left))

    def further(self, before: list[Fix], fix: Fix) -> float:
        """What a fix saves after others."""
        change = self._joined(before)
        applied = apply(self.program, fix.claims)
        gain = self._saved(self._steady(change), self._steady(change | applied.change))
        taken = frozenset[int]().union(*map(_compilations, before))
        return gain * self._frequency(applied, fix) + sum(self._compiled(fix, taken))

    def limit_after(self, fixes: list[Fix]) -> str:
        """What a step is limited by after all of these."""
        taken, left = frozenset[int](), self.rates.limiting_compile_s
        for fix in fixes:
            left -= self._limiting(*self._compiled(fix, taken))
            taken |= _compilations(fix)
        return self._limit(self._steady(self._joined(fixes)), left)

    def _limiting(self, late: float, warmup: float) -> float:
        """The part of saved compiling that :attr:`.Rates.limiting_compile_s` includes."""
        return late + warmup if self.rates.regions_s else late

    def _joined(self, fixes: list[Fix]) -> Change:
        change = Change.none(self.program)
        for fix in fixes:
            change = change | apply(self.program, fix.claims).change
        return change

    def _steady(self, change: Change) -> Outcome:
        return replay(self.program, change.without_compiling(self.program))

    @cached_property
    def _steady_base(self) -> Outcome:
        return self._steady(Change.none(self.program))

    def _saved(self, before: Outcome, after: Outcome) -> float:
        """Seconds of the run, scaled from the steps in the window to all steps."""
        return (before.steady_ns() - after.steady_ns()) / 1e9 * self._scale

    @cached_property
    def _scale(self) -> float:
        """How much more time the run's steps took than the window's."""
        return self.rates.steady_s / max(sum(self._steady_base.host_ns().values()) / 1e9, 1e-9)

    def _frequency(self, applied: Applied, fix: Fix) -> float:
        """How much more often the calls happen in the run than in the window's steps."""
        steps = len(self.program.steady)
        if not applied.calls or not self.rates.barriers:
            return 1.0
        return (fix.count / self.rates.barriers) / (applied.calls / steps)

    def _compiled(self, fix: Fix, taken: frozenset[int] = frozenset()) -> tuple[float, float]:
        """Seconds of compiling that a fix saves, after warm-up and in it.

        After warm-up the device may work at the same time, so that less is saved.
        """
        late = warmup = 0.0
        for claim in fix.claims:
            numbers = set(claim.compilations) - taken
            spent = {number: self.rates.compilations.get(number, 0.0) for number in numbers}
            whole = sum(spent.values())
            gone = max(0.0, 1.0 - claim.to_ns / 1e9 / whole) if whole else 0.0
            after = sum(spent[number] for number in numbers & self.rates.late)
            late += gone * after * self._undisturbed
            warmup += gone * (whole - after)
        return late, warmup

    @cached_property
    def _undisturbed(self) -> float:
        """The share of late compiling that is not hidden by the device's work, in the timeline.

        No more can be hidden than the time that the device works.
        """
        program = self.program
        late = (program.activity == COMPILE) & ~np.isin(program.step, program.warmup)
        compiling = int(program.work[late].sum())
        if not compiling:
            return 1.0
        none = Change.none(program)
        without = replay(program, replace(none, gone=late.astype(float)))
        least = 1.0 - int(program.duration.sum()) / compiling
        return min(1.0, max(0.0, least, (self.base.total_ns - without.total_ns) / compiling))

    def _limit(self, outcome: Outcome, compile_s: float) -> str:
        """What most of a step is spent on; ``compile_s`` is the compiling after warm-up."""
        spent = {key: value / 1e9 * self._scale for key, value in outcome.host_ns().items()}
        device, steady = (
            nanoseconds / 1e9 * self._scale
            for nanoseconds in (outcome.device_ns(), outcome.steady_ns())
        )
        waiting = spent.pop("wait")
        if not self._records_steps:  # the framework's Python launches, it does not trace
            spent["dispatch"] += spent.pop("tracing")
        spent["compile"] = max(0.0, compile_s)
        largest = max(spent, key=lambda key: spent[key])
        busy = device / max(steady + spent["compile"] * self._undisturbed, 1e-9)
        if busy < _FULL and waiting < spent[largest]:
            return _LIMITS[largest]
        if busy < _BUSY:
            return "host_sync"
        return "device" if self._waiting < _BUSY else "collectives"


def _compilations(fix: Fix) -> frozenset[int]:
    return frozenset(number for claim in fix.claims for number in claim.compilations)
