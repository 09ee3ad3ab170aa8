"""A badge, as shields.io reads it: https://shields.io/badges/endpoint-badge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from xladoctor.foreign import as_json
from xladoctor.quantities import counted
from xladoctor.report.gate import summary
from xladoctor.report.interface import Report, Style

_GREEN, _YELLOW, _RED = "brightgreen", "yellow", "red"
_WORST = (_RED, _YELLOW, _GREEN)


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write one badge, of the program that is worst off, or of the first of several alike."""
    badges = [_of(report) for report in reports] or [(_YELLOW, "nothing judged")]
    color, message = min(badges, key=lambda badge: _WORST.index(badge[0]))
    shown = {"schemaVersion": 1, "label": "xladoctor", "message": message, "color": color}
    output.write(as_json(shown, ascii_only=not style.unicode))


def _of(report: Report) -> tuple[str, str]:
    """Colour and text: the gate's verdict, or how many findings are above information."""
    outcome = report.outcome
    if outcome is not None:
        color = {"passed": _GREEN, "missing": _YELLOW, "failed": _RED}[outcome.status]
        return color, "passed" if outcome.status == "passed" else summary(outcome)
    findings = sum(finding.severity != "info" for finding in report.diagnosis.findings)
    if findings:
        return _YELLOW, f"{counted(findings, 'finding')} to fix"
    return _GREEN, "nothing to fix"
