"""The facts that a verdict is based on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xladoctor.diagnosis.finding import Finding, Saving
from xladoctor.diagnosis.interface import Steps, TimeSpent
from xladoctor.diagnosis.rule import Rule

#: Share of the loop; fixes that save less are not worth a word.
LITTLE = 0.02
_STEADY = 0.25  # the least share of the loop that its number of median steps makes up


@dataclass(frozen=True, slots=True)
class Basis:
    """The facts that the verdict is based on.

    Attributes:
        time: the time spent, with the part that no finding explains.
        findings: all findings.
        to_fix: findings above information, each with its saving after the better ones.
        pack: the rules of the findings, by id.
        judged: how many rules could be evaluated, and how many there are; None if that means
            nothing. If none could, nothing is known to be right.
        limit: what limits a step once ``worth_fixing(to_fix)`` is fixed.
        waiting: share of the device's busy time in which it waits for processes that are missing.
        busy: share of the steady steps in which a device worked, if that is their limit.
        so_far: what "nothing to fix" applies to, if not the whole program; see :mod:`.reach`.
        unjudged: the text to use instead, if important rules could not be evaluated.
        dispatch: what the host does in dispatch, if it does not launch graphs.
        off: how many rules are switched off, so that their defects would not be found.
        once: whether no launch repeats, so that all work of the device is within single launches.
        steps: number of steps of the loop, to scale the average step.
        first: sentences that come first: how the program ended, if it failed, and what was not
            judged.
        without_steps: whether it is known that no step ended.
        reported: summary of evidence without steps; see :func:`facts.reported`.
    """

    time: TimeSpent
    findings: Sequence[Finding]
    to_fix: Sequence[Finding]
    pack: Mapping[str, Rule]
    judged: tuple[int, int] | None = None
    limit: str | None = None
    busy: float | None = None
    so_far: str = ""
    unjudged: str = ""
    dispatch: str | None = None
    off: int = 0
    once: bool = False
    steps: Steps | None = None
    without_steps: bool = False
    reported: str = ""
    first: Sequence[str] = ()
    waiting: float = 0.0

    @property
    def warming_up(self) -> bool:
        """Whether no step came after warm-up."""
        return self.steps is not None and self.steps.count <= self.steps.warmup

    @property
    def of_this_run(self) -> list[Finding]:
        """The findings whose fixes save time in a run like this one."""
        return [each for each in self.findings if not self.pack[each.rule].spares_later_runs]

    @property
    def is_steady(self) -> bool:
        """Whether usual steps make up the loop's time, rather than a few long ones such as the
        first.
        """
        whole = self.time.steady_s
        if self.steps is None or self.steps.median_ms is None:
            return whole > 0.0
        return self.steps.count * self.steps.median_ms / 1e3 >= _STEADY * whole

    def share_of_loop(self, saving: Saving) -> float:
        """As the function."""
        return share_of_loop(saving, self.time)


def share_of_loop(saving: Saving, time: TimeSpent) -> float:
    """What a fix saves, as a share of the loop; 0 if unknown."""
    if saving.outside_loop:
        return 0.0
    if not time.loop_s or saving.seconds is None:
        return saving.share or 0.0
    return min(1.0, saving.seconds / time.loop_s)


def worth_fixing(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that a verdict counts, if there are any: those known to save next to nothing
    are left out of its number, its gain, and what limits the loop afterwards.
    """
    return [finding for finding in findings if not finding.saving.is_next_to_nothing]
