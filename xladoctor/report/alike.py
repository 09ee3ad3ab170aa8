"""Findings of one rule with the same fix are one thing to do, at several lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xladoctor.diagnosis.finding import Finding
from xladoctor.report.words import gain_of
from xladoctor.repository import spot


@dataclass(frozen=True, slots=True)
class Alike:
    """The findings of a group.

    Attributes:
        number: of the group, from 1.
        findings: at least one, in the order of the report.
    """

    number: int
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The finding whose place in the report is the group's."""
        return self.findings[0]

    @property
    def title(self) -> str:
        """What is wrong, and how often: at how many lines, where these are known."""
        count, unit = len(self.findings), "lines" if self.first.locations else "times"
        return self.first.title + (f" ({count} {unit})" if count > 1 else "")

    @property
    def gain(self) -> str:
        """What fixing all of them saves, in a word or two, as far as that is known."""
        first, *others = self.findings
        if not others:
            return gain_of(first)
        seconds = first.saving.seconds
        for saving in (finding.saving for finding in others):
            more = saving.seconds if saving.remaining_s is None else saving.remaining_s
            if seconds is None or more is None:
                return ""
            seconds += more
        return gain_of(replace(first, saving=replace(first.saving, seconds=seconds)))

    @property
    def place(self) -> str:
        """The file and the line of the first, and how many more there are; empty without a line."""
        if not self.first.locations:
            return ""
        location, others = self.first.locations[0], len(self.findings) - 1
        return spot(location.file, location.line) + f" +{others}" * bool(others)


def alike(findings: Sequence[Finding]) -> list[Alike]:
    """The groups, each where the first of its findings is."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.severity, finding.rule, finding.fix), []).append(finding)
    return [Alike(number, tuple(group)) for number, group in enumerate(groups.values(), 1)]
