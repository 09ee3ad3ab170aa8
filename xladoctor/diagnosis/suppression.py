"""Findings that a comment suppresses: ``# xladoctor: ignore[RULE] reason``."""

from __future__ import annotations

import re

from xladoctor.diagnosis.interface import Finding, Ignored
from xladoctor.diagnosis.source_line import comment

_COMMENT = re.compile(r"#\s*xladoctor:\s*ignore\[([A-Z0-9,\s]+)\]\s*(.*)$")


def suppress(findings: list[Finding]) -> tuple[list[Finding], list[Ignored]]:
    """Split findings into those to report and those that a comment on their lines ignores."""
    kept, ignored = [], []
    for finding in findings:
        reason = _reason(finding)
        if reason is None:
            kept.append(finding)
        else:
            place = finding.locations[0]
            ignored.append(Ignored(
                finding.rule, place.file, place.line, reason, finding.fingerprint, place.function,
                place.source, finding.count, finding.per_step,
            ))  # fmt: skip
    return kept, ignored


def _reason(finding: Finding) -> str | None:
    for location in finding.locations:
        match = _COMMENT.search(comment(location.source or ""))
        if match and location.role in ("guilty", "caller"):
            asked = {code.strip() for code in match[1].split(",")}
            if any(code and finding.rule.startswith(code) for code in asked):
                return match[2].strip()
    return None
