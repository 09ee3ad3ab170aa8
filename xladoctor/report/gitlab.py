"""GitLab's code quality report.

Format: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format. An entry has to
have a file; what has no line in the repository is put on the first line of the main script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from xladoctor.foreign import as_json
from xladoctor.report.alerts import Alert, all_alerts
from xladoctor.report.interface import Report, Style
from xladoctor.report.text import printable

_SEVERITIES = {"error": "critical", "warning": "major", "note": "info"}


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write one array for all programs; each fingerprint is in it once, as GitLab asks."""
    reports = [printable(report, Style()) for report in reports]
    issues = [_issue(alert) for alert in all_alerts(reports)]
    output.write(as_json(issues, ascii_only=not style.unicode))


def _issue(alert: Alert) -> dict[str, Any]:
    path, line = (alert.place.file, alert.place.line) if alert.place else (alert.program, 1)
    return {
        "description": " ".join([f"{alert.rule}: {alert.title}.", *alert.text]),
        "check_name": alert.rule,
        "fingerprint": alert.fingerprint,
        "severity": _SEVERITIES[alert.level],
        "location": {"path": path, "lines": {"begin": line}},
    }
