"""How often something happens, against another run, which may be of another length."""

from __future__ import annotations

from dataclasses import dataclass

_SLACK = 0.10  # of a rate, between runs of different length


@dataclass(frozen=True, slots=True)
class Often:
    """Of a finding in a run.

    Attributes:
        recurs: whether it happens again and again; else it may be over after some steps.
        count: in the whole run.
        per_step: its rate, where its rule gives one.
        steps: of the run.
    """

    recurs: bool
    count: int
    per_step: float | None
    steps: int | None

    @property
    def rate(self) -> float | None:
        """A step; None of what may be over after some steps."""
        return self.per_step if self.recurs else None


def growth(before: Often, after: Often) -> int:
    """1 where it happens more often, -1 where less, else 0.

    In runs of as many steps counts decide; else rates, with a tenth of slack and one step. What has
    no rate grew only where its count did too.
    """
    by_count = sign(before.count, after.count)
    if before.steps == after.steps or not before.steps or not after.steps:
        return by_count
    by_rate = rate_growth(_rate(before, before.steps), _rate(after, after.steps),
                          before.steps, after.steps)  # fmt: skip
    rated = before.rate is not None and after.rate is not None
    return by_rate if rated or by_rate == by_count else 0


def rate_growth(before: float, after: float, before_steps: int, after_steps: int) -> int:
    """The same of rates a step."""
    return sign(before, after, _SLACK * min(before, after) + 1 / min(before_steps, after_steps))


def sign(before: float, after: float, slack: float = 0.0) -> int:
    """The same of any numbers that may differ by as much."""
    return 0 if abs(after - before) <= slack else 1 if after > before else -1


def _rate(often: Often, steps: int) -> float:
    return often.count / steps if often.rate is None else often.rate
