"""Compares how often something happens in two runs, which may differ in length."""

from __future__ import annotations

from dataclasses import dataclass

_SLACK = 0.10  # relative tolerance for rates, between runs of different length


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often a finding happens in a run.

    Attributes:
        recurs: whether it keeps happening; if not, it may stop after some steps.
        count: occurrences in the whole run.
        per_step: occurrences per step, if its rule gives a rate.
        steps: steps of the run.
    """

    recurs: bool
    count: int
    per_step: float | None
    steps: int | None

    @property
    def rate(self) -> float | None:
        """Occurrences per step; None if it may stop after some steps."""
        return self.per_step if self.recurs else None


def growth(before: Frequency, after: Frequency) -> int:
    """1 if it happens more often, -1 if less often, else 0.

    In runs of the same length counts decide; otherwise rates, with a slack of 10% and one step. If
    there is no rate, the count must have changed in the same direction.
    """
    by_count = sign(before.count, after.count)
    if before.steps == after.steps or not before.steps or not after.steps:
        return by_count
    by_rate = rate_growth(
        _rate(before, before.steps), _rate(after, after.steps), before.steps, after.steps
    )
    rated = before.rate is not None and after.rate is not None
    return by_rate if rated or by_rate == by_count else 0


def rate_growth(before: float, after: float, before_steps: int, after_steps: int) -> int:
    """As :func:`growth`, for rates per step."""
    return sign(before, after, _SLACK * min(before, after) + 1 / min(before_steps, after_steps))


def sign(before: float, after: float, slack: float = 0.0) -> int:
    """As :func:`growth`, for any two numbers, with a relative tolerance."""
    return 0 if abs(after - before) <= slack else 1 if after > before else -1


def _rate(often: Frequency, steps: int) -> float:
    return often.count / steps if often.rate is None else often.rate
