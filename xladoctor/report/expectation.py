"""An unmet expectation: what was expected, and for each event line, code, cause and fix."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.finding import Finding
from xladoctor.report.finding_text import explained, indented
from xladoctor.report.interface import Style
from xladoctor.report.text import write

_NOUNS = {"compilations": "compilation", "host_syncs": "host sync", "fallbacks": "fallback"}


@dataclass(frozen=True, slots=True)
class Unmet:
    """More events of a kind than were expected."""

    kind: str
    count: int
    bound: int


def render(
    unmet: Sequence[Unmet],
    findings: Mapping[str, Sequence[Finding]],
    notes: Sequence[str],
    style: Style,
) -> str:
    """The text of the failure.

    Args:
        findings: what is known of each kind; a finding without a rule has an empty one.
        notes: what else there is to say, a sentence each.
    """
    parts: list[RenderableType] = []
    number = 0
    for kind in unmet:
        for finding in findings.get(kind.kind, ()):
            number += 1
            parts += [Text(), _event(number, finding, style)]
    parts += [item for note in notes for item in (Text(), Text(note))]
    text = io.StringIO()
    write(parts, text, style)
    return "\n".join([", ".join(map(headline, unmet)), text.getvalue().rstrip("\n")])


def headline(unmet: Unmet) -> str:
    """As ``1 compilation where none was expected``."""
    noun = _NOUNS[unmet.kind] + "s" * (unmet.count != 1)
    bound = f"at most {unmet.bound}" if unmet.bound else "none"
    return f"{unmet.count} {noun} where {bound} {'were' if unmet.bound > 1 else 'was'} expected"


def _event(number: int, finding: Finding, style: Style) -> RenderableType:
    rule = f"{finding.rule}  " if finding.rule else ""
    times = f"  ({finding.count} times)" if finding.count > 1 else ""
    return Group(
        Text(f"{number:>2}  {rule}{finding.title}{times}", style="bold"),
        indented(explained(finding, style), style),
    )
