"""Annotations of GitHub Actions: workflow commands on standard output.

The commands and their escapes are those of ``actions/toolkit`` (``packages/core/src/command.ts``).
Of each level the platform shows ten annotations of a step and drops the rest silently; so ten
are written, those with most to save first, and the last one says how many there are besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from xladoctor.report.alerts import Alert, all_alerts
from xladoctor.report.interface import Report, Style
from xladoctor.report.levels import LEVELS
from xladoctor.report.text import plain, printable

MOST = 10  # of a level, a step
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write the annotations of all programs, ten of a level together."""
    alerts = all_alerts([printable(report, style) for report in reports])
    for level in LEVELS:
        of_level = [alert for alert in alerts if alert.level == level]
        output.writelines(f"{plain(command(alert), style)}\n" for alert in _shown(of_level))


def _shown(alerts: list[Alert]) -> list[Alert]:
    shown, more = alerts[:MOST], len(alerts) - MOST
    if more > 0:
        kind = _COMMANDS[shown[-1].level] + "s" * (more != 1)
        note = f"And {more} more {kind} that GitHub would not show: see the job's summary."
        shown[-1] = replace(shown[-1], text=[*shown[-1].text, note])
    return shown


def command(alert: Alert) -> str:
    """The workflow command of one annotation."""
    at = {"file": alert.place.file, "line": str(alert.place.line)} if alert.place else {}
    properties = {**at, "title": f"{alert.rule} {alert.title}"}
    written = ",".join(f"{key}={_escaped(text, _PROPERTY)}" for key, text in properties.items())
    text = alert.text + ([f"Fix: {' '.join(alert.finding.fix.split())}"] if alert.finding else [])
    return f"::{_COMMANDS[alert.level]} {written}::{_escaped(chr(10).join(text), _DATA)}"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(character, character) for character in text)
