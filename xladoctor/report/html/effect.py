"""What fixes change, as bars: the time now, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.repository import spot


@dataclass(frozen=True, slots=True)
class Bar:
    """A time in seconds, and its share of the first bar's, 0 to 1.

    Attributes:
        least: whether at least so much is left, because the saving is an upper bound.
    """

    label: str
    seconds: float
    share: float
    least: bool = False


def effect(finding: Finding, diagnosis: Diagnosis) -> list[Bar]:
    """The average step now and once this is fixed, or else the loop; empty if that is unknown."""
    saving, loop_s = finding.saving, diagnosis.time.loop_s
    if saving.seconds is None or saving.basis == "none" or saving.is_next_to_nothing:
        return []
    least = saving.basis == "bound"
    if saving.now_ms and saving.after_ms is not None and saving.after_ms < saving.now_ms:
        return list(
            _bars("average step now", saving.now_ms / 1e3, [("fixed", saving.after_ms / 1e3)])
        )
    if not loop_s or saving.outside_loop or saving.seconds > loop_s:
        return []
    left = loop_s - saving.seconds
    return list(_bars("the loop now", loop_s, [("fixed", left)], least=least))


def effects(diagnosis: Diagnosis) -> list[Bar]:
    """The loop now, and once each finding is fixed after those before it.

    Empty unless several findings have an estimate: the picture of one shows the same.
    """
    loop_s = diagnosis.time.loop_s
    known = [
        finding
        for finding in diagnosis.findings
        if finding.saving.remaining_s and not finding.saving.is_next_to_nothing
    ]
    if not loop_s or len(known) < 2:
        return []
    rules = [finding.rule for finding in known]
    left, after = loop_s, []
    for nth, finding in enumerate(known):
        left = max(0.0, left - (finding.saving.remaining_s or 0.0))
        name = _placed(finding) if rules.count(finding.rule) > 1 else finding.rule
        after.append((f"{name} too" if nth else f"{name} fixed", left))
    return list(_bars("the loop now", loop_s, after))


def _placed(finding: Finding) -> str:
    return " ".join([finding.rule, *(spot(at.file, at.line) for at in finding.locations[:1])])


def _bars(
    label: str, now: float, left: list[tuple[str, float]], *, least: bool = False
) -> Iterator[Bar]:
    yield Bar(label, now, 1.0)
    for text, seconds in left:
        yield Bar(text, seconds, seconds / now, least)
