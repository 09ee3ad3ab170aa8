"""The level of a finding on a platform that knows errors, warnings and notes.

Where the gate has decided, an error is what fails, and nothing else is one. What the baseline or an
acknowledgement knows is a note. The rest keeps its severity by counts, which the gate goes by, as a
warning at most. Without the gate, the finding's own severity counts. The severity itself is
in the alert's text, in the word that all reports have for it.
"""

from __future__ import annotations

from typing import Literal

from xladoctor.diagnosis.finding import Finding
from xladoctor.diagnosis.rule import Severity
from xladoctor.gate.interface import Judgement
from xladoctor.report.interface import Report

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
OF_SEVERITY: dict[Severity, Level] = {"error": "error", "warning": "warning", "info": "note"}


def judgements(report: Report) -> dict[str, Judgement]:
    """What the gate made of each finding, by fingerprint; nothing where there was no gate."""
    made = report.outcome.judgements if report.outcome else ()
    return {judgement.fingerprint: judgement for judgement in made}


def level(finding: Finding, judgement: Judgement | None) -> Level:
    """What the finding counts as."""
    if judgement is None:
        return OF_SEVERITY[finding.severity]
    if judgement.fails:
        return "error"
    if judgement.state in ("known", "acknowledged"):
        return "note"
    return "note" if finding.severity_by_counts == "info" else "warning"
