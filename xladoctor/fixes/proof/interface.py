"""What came of trying a patch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xladoctor.fixes.interface import Patch

Outcome = Literal[
    "holds",
    "helps less than predicted",
    "does not help",
    "changes the results",
    "fails",
    "not tried",
]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Run:
    """A program that was run once, captured.

    Attributes:
        status: its exit status; negative for a signal; None if it took too long.
        printed: its standard output.
        loop_s: seconds of its loop with warm-up, or of the whole program if it has none.
        step_ms: median step after warm-up.
        counts: compilations after warm-up, reads a step and so on, by name.
        findings: ids of the rules with a finding at warning or above.
        fault: the end of its standard error, if it failed.
    """

    status: int | None
    printed: str
    loop_s: float | None = None
    step_ms: float | None = None
    counts: tuple[tuple[str, float], ...] = ()
    findings: frozenset[str] = frozenset()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """A patch, and what its program did with and without it.

    Attributes:
        before_s, after_s: medians of the loop's seconds.
        times: how many times as fast the loop is with the patch.
        predicted_s: what the report said that the patch saves; None if it said nothing.
        bound: whether that was "at most".
        differs: what of the output or the counts differs, as lines.
        reason: why the outcome is what it is, as a sentence; empty if it holds.
        new: rules that have a finding at warning or above only with the patch.
        counts: what differs: its name, and its values without and with the patch.
        note: what could not be compared, as a sentence.
    """

    patch: Patch
    outcome: Outcome
    before_s: float | None = None
    after_s: float | None = None
    times: Interval | None = None
    predicted_s: float | None = None
    bound: bool = False
    differs: tuple[str, ...] = ()
    reason: str = ""
    new: tuple[str, ...] = ()
    counts: tuple[tuple[str, float, float], ...] = ()
    note: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the patch is worth making."""
        return self.outcome in ("holds", "helps less than predicted")
