"""What the gate decides, and why: the outcome that reports show beside the diagnosis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from xladoctor.configuration.interface import FailOn
from xladoctor.diagnosis.interface import Consumer, CountName
from xladoctor.errors import XladoctorError


class GateError(XladoctorError):
    """The gate cannot judge: an unusable baseline or acknowledgement, or no run to judge."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate makes of a finding.

    Attributes:
        fingerprint: of the finding.
        fails: whether it fails the gate.
        state: new or worse (than the baseline, if there is one), known (in it), acknowledged (by
            hand), tolerated (below the threshold, or by its level), or not_judged (judged by time,
            which was not asked for).
        reason: why, in a sentence without the full stop.
        known_as: its fingerprint in the baseline, if it differs: platforms and acknowledgements
            still know it by that.
    """

    fingerprint: str
    rule: str
    fails: bool
    state: Literal["new", "worse", "known", "acknowledged", "tolerated", "not_judged"]
    reason: str
    known_as: str | None = None


@dataclass(frozen=True, slots=True)
class BudgetOutcome:
    """A budget, and whether it was kept.

    Attributes:
        name: as in the configuration, for instance ``max_host_syncs_per_step``.
        count: the number that it limits.
        limit: what it allows.
        found: the actual value; None if the evidence does not tell.
        state: within, over, acknowledged (over, but accepted by hand), or unknown.
        reason: why it is unknown, or how it was acknowledged.
        consumers: the lines that take most of it, if it is over.
    """

    name: str
    count: CountName
    limit: float
    found: float | None
    state: Literal["within", "over", "acknowledged", "unknown"]
    reason: str = ""
    consumers: list[Consumer] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Missing:
    """A rule or budget that was asked for and could not be judged."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class StaleEntry:
    """An entry of the baseline that no longer occurs.

    Attributes:
        certain: whether its rule was judged in this run; if not, it may still occur.
    """

    fingerprint: str
    rule: str
    file: str | None
    code: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Repeated:
    """A count's value in each of several runs, and their median."""

    name: CountName
    values: list[float | None]
    median: float | None


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """The gate's decision on one program.

    Attributes:
        status: failed, missing (nothing failed, but something asked for could not be judged), or
            passed.
        script: the program, as the baseline names it.
        fail_on: lowest severity at which a finding without a level fails.
        baseline: path of the baseline, if there is one for the program.
        judgements: one for each finding, in the diagnosis' order.
        notes: what the user should know: expired acknowledgements, budgets for other programs only.
        runs: values of several runs; empty for a single run.
        acknowledged: path of the file of what was accepted by hand.
        times: whether times were judged, too: by rules or a budget.
    """

    status: Literal["passed", "failed", "missing"]
    script: str
    fail_on: FailOn
    baseline: str | None
    judgements: list[Judgement]
    budgets: list[BudgetOutcome]
    missing: list[Missing]
    gone: list[StaleEntry]
    notes: list[str]
    runs: list[Repeated] = field(default_factory=list)
    acknowledged: str = ".xladoctor/acknowledged.toml"
    times: bool = False

    @property
    def over(self) -> list[BudgetOutcome]:
        """The budgets that are exceeded and not acknowledged."""
        return [budget for budget in self.budgets if budget.state == "over"]
