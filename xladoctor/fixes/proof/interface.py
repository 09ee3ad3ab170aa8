"""What came of trying a patch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from xladoctor.fixes.interface import Patch

Outcome = Literal[
    "verified",
    "helps less than predicted",
    "does not help",
    "changes the results",
    "not comparable",
    "fails",
    "not tried",
]

#: Outcomes of patches that are worth making.
KEPT = ("verified", "helps less than predicted")

_LAST = 400  # characters of what a failed program wrote


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
        status: its exit status, as shells report it; None if it took too long.
        printed: its standard output.
        loop_s: seconds of its loop with warm-up, or of the whole program if it has none.
        steady_s: the same without the compiling of warm-up.
        counts: compilations after warm-up, reads a step and so on, by name.
        findings: ids of the rules with a finding at warning or above.
        rules: the rule of each finding.
        errors: its standard error.
        logged: the number of its log records, by level, as texts.
        written, removed: the files below the project that it wrote, each with where it is kept, and
            those that it removed.
        state: what it had computed at its end, each with the file that holds it.
        report: its diagnosis, as the JSON report has it; empty if there is none.
    """

    status: int | None
    printed: str
    loop_s: float | None = None
    steady_s: float | None = None
    counts: tuple[tuple[str, float], ...] = ()
    findings: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    errors: str = ""
    logged: tuple[str, ...] = ()
    written: Mapping[str, Path] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    state: Mapping[str, Path] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fault(self) -> str:
        """The end of its standard error, if it failed."""
        return self.errors.strip()[-_LAST:] if self.status else ""


@dataclass(frozen=True, slots=True)
class Proof:
    """A patch, and what its program did with and without it.

    Attributes:
        others: patches that were tried together with it, which all below is about as well.
        before_s, after_s: medians of the loop's seconds.
        times: how many times as fast the loop is with the patch.
        after_warmup: whether these three leave out the compiling of warm-up.
        predicted_s: what the report said that the patch saves; None if it said nothing.
        bound: whether that was "at most".
        same: results that were compared and are the same.
        differs: what of the results differs, as lines.
        reason: why the outcome is what it is, as a sentence; empty if it is verified.
        new: rules that have a finding at warning or above only with the patch.
        counts: what differs: its name, and its values without and with the patch.
        note: what could not be compared, as a sentence.
    """

    patch: Patch
    outcome: Outcome
    before_s: float | None = None
    after_s: float | None = None
    times: Interval | None = None
    after_warmup: bool = False
    predicted_s: float | None = None
    bound: bool = False
    same: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    reason: str = ""
    new: tuple[str, ...] = ()
    counts: tuple[tuple[str, float, float], ...] = ()
    note: str = ""
    others: tuple[Patch, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the patch is worth making."""
        return self.outcome in KEPT
