"""Computes the savings of findings from costs and replays.

If the timeline can be replayed without what the fix removes, a saving is an estimate. Otherwise it
is a bound: at most what the finding costs. If a rule claims nothing and its cost is an estimate,
that is the estimate of the saving, too. A cost that is only partly known gives no saving. Savings
overlap and must not be added up, but ``remaining_s``, what a fix saves after the better ones, can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xladoctor.diagnosis.finding import NO_SAVING, Cost, Finding, Saving, SavingBasis
from xladoctor.diagnosis.interface import Steps, TimeSpent
from xladoctor.diagnosis.whatif import Estimate, Fix, WhatIf


@dataclass(frozen=True, slots=True)
class Savings:
    """Computes what fixes save in a run.

    Attributes:
        total_steps: length of a run to project savings to, if given.
    """

    whatif: WhatIf
    time: TimeSpent
    steps: Steps | None
    total_steps: int | None = None

    def saving(self, cost: Cost, fix: Fix) -> Saving:
        """What one fix saves by itself."""
        estimate = self.whatif.estimate(fix) if fix.claims else None
        if estimate is not None:
            return self._estimated(estimate.within(_most(cost)), fix)
        if cost.seconds is None or cost.basis == "least":
            return NO_SAVING
        basis: SavingBasis = "bound" if fix.claims or cost.basis != "estimate" else "estimate"
        each = None if fix.outside_loop else self._each(cost.seconds)
        step_s = self.whatif.step_s(fix.process) if basis == "estimate" else None
        now = 1e3 * step_s if step_s else None
        after = None if now is None or each is None else max(0.0, now - each)
        return Saving(
            cost.seconds,
            each,
            cost.share,
            basis,
            now,
            after,
            assumes=list(fix.claims),
            next_1000_s=0.0 if fix.settled else None if fix.settled is None else each,
            outside_loop=fix.outside_loop,
        )

    def in_order(self, findings: Sequence[Finding]) -> tuple[list[Finding], str | None]:
        """Add to each finding, in rank order, what it saves after the ones before it.

        Also returns what limits the program once all are fixed, if known.
        """
        fixes = [_fix_of(finding) for finding in findings]
        given, limit = self.whatif.in_order(fixes)
        pairs = zip(findings, given, strict=True)
        return [_with_remaining(finding, seconds) for finding, seconds in pairs], limit

    def _estimated(self, estimate: Estimate, fix: Fix) -> Saving:
        seconds = max(0.0, estimate.seconds)
        if self.time.loop_s:
            seconds = min(seconds, self.time.loop_s)
        each, step_s = self._each(seconds), self.whatif.step_s(fix.process)
        now = None if step_s is None else 1e3 * step_s
        recurring = max(0.0, estimate.steady_s + estimate.late_s)
        gone = self._each(recurring)
        return Saving(
            seconds,
            each,
            min(1.0, seconds / self.time.whole_s) if self.time.whole_s else None,
            "estimate",
            now,
            None if now is None or gone is None else max(0.0, now - gone),
            estimate.limited_by,
            projected_s=self._projected(estimate, fix),
            next_1000_s=self._next(estimate, fix),
            process=fix.process,
            assumes=list(fix.claims),
        )

    def _projected(self, estimate: Estimate, fix: Fix) -> float | None:
        if not self.total_steps or not self.steps or not self.steps.count:
            return None
        return max(0.0, estimate.projected(fix, self.steps.count, self.total_steps))

    def _next(self, estimate: Estimate, fix: Fix) -> float | None:
        """What another thousand steps lose; None if compilations have no rate."""
        if not self.steps or not self.steps.count or (fix.has_no_rate and estimate.late_s):
            return None
        now, later = (
            estimate.projected(fix, self.steps.count, self.steps.count + more) for more in (0, 1000)
        )
        return max(0.0, later - now)

    def _each(self, seconds: float) -> float | None:
        return 1e3 * seconds / self.steps.count if self.steps and self.steps.count else None


def _fix_of(finding: Finding) -> Fix | None:
    saving = finding.saving
    if saving.process is None:
        return None
    return Fix(saving.process, saving.assumes, finding.count)


def _with_remaining(finding: Finding, seconds: float | None) -> Finding:
    if seconds is None:
        return finding
    most = _most(finding.cost)
    left = max(0.0, seconds if most is None else min(seconds, most))
    return replace(finding, saving=replace(finding.saving, remaining_s=left))


def _most(cost: Cost) -> float | None:
    """The most that a fix can save, in seconds."""
    return None if cost.basis == "least" else cost.seconds
