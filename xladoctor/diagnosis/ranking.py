"""Determines the severity of findings, and their order."""

from __future__ import annotations

from itertools import takewhile
from typing import Literal

from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.rule import Severity

ERROR_SHARE = 0.20
WARNING_SHARE = 0.02
AVOIDABLE_SHARE = 0.10
LEVELS: tuple[Severity, ...] = ("info", "warning", "error")


def severity(
    share: float | None,
    *,
    stalls: bool,
    unbounded: bool,
    healthy: bool,
    settled: bool,
    ceiling: Severity,
    avoidable: float = 0.0,
) -> Severity:
    """Error from a loss of 20% or for unbounded growth, warning from 2% or for a stall each step.

    Args:
        share: the share lost of this run or a long one, if known.
        stalls: whether it stalls an accelerator each step, whatever it costs here.
        unbounded: whether it grows with the length of the run.
        healthy: whether it is only worth knowing: info, unless much of this run can be saved.
        settled: whether it is over, so that a longer run has no more of it: never more than a
            warning if the loss is unknown.
        ceiling: the rule's severity, which is the highest possible.
        avoidable: the share of this run that its fix is known to save.
    """
    if healthy:
        level: Severity = "warning" if avoidable >= AVOIDABLE_SHARE else "info"
        return min(level, ceiling, key=LEVELS.index)
    if unbounded or (share is not None and share >= ERROR_SHARE):
        level = "error"
    elif stalls or (share is not None and share >= WARNING_SHARE):
        level = "warning"
    else:
        level = "info"
    highest: Severity = "warning" if settled and share is None else "error"
    return min(level, highest, ceiling, key=LEVELS.index)


def reaches(level: Severity, least: Severity | Literal["never"]) -> bool:
    """Whether a severity is at least ``least``."""
    return least != "never" and LEVELS.index(level) >= LEVELS.index(least)


def ranked(findings: list[Finding]) -> list[Finding]:
    """What to fix, by what that saves, and then what is only for information. Findings about wrong
    results come first, whatever they cost. Errors whose saving is unknown come after those that
    save most, as these may be their cause, and before all else. Other unknown savings come after
    known ones, and negligible savings last.
    """
    ordered = sorted(
        findings,
        key=lambda f: (
            _group(f),
            -(f.saving.seconds or 0.0),
            -LEVELS.index(f.severity),
            -f.count,
            f.rule,
            [(place.file, place.line) for place in f.locations],
            f.fingerprint,
        ),
    )
    unknown = [each for each in ordered if _group(each) == 1]
    others = [each for each in ordered if _group(each) != 1]
    first = [*takewhile(_is_before_unknown, others)]
    return [*first, *unknown, *others[len(first) :]]


def _is_before_unknown(finding: Finding) -> bool:
    group = _group(finding)
    return group == 0 or (group == 2 and finding.severity == "error")


def _group(finding: Finding) -> int:
    """A finding's position by severity and kind of saving."""
    if finding.about == "results":
        return 0
    info = 3 * (finding.severity == "info")
    if finding.saving.seconds is None:
        return 1 if finding.severity == "error" else 3 + info
    return (4 if finding.saving.is_next_to_nothing else 2) + info
