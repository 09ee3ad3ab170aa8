"""SARIF 2.1.0, in the part of it that GitHub's code scanning reads.

Standard: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/; what GitHub makes of it:
https://docs.github.com/code-security/reference/code-scanning/sarif-files/sarif-support.

- A program is a run of its own, identified by ``automationDetails.id``. GitHub refuses a file with
  two runs of the same id, so a program that ran twice has a number there.
- Every rule of the pack is listed, with the outcome of this run in ``properties.outcome``; a budget
  is listed as a rule too, whose id is the budget's name, and is a result where it is exceeded.
- GitHub refuses a whole file for one result without a file. A finding that has no line in the
  repository is on the main script's first line; where not even that is known (a pasted report), it
  is a notification of the run instead.
- GitHub shows related locations only where the message links them, so it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from xladoctor.diagnosis.finding import Location
from xladoctor.foreign import as_json
from xladoctor.report.alerts import Alert, alerts, missing
from xladoctor.report.interface import Report, Style
from xladoctor.report.sarif_places import code_flows, message, primary, related, sarif_fixes
from xladoctor.report.sarif_rules import descriptors
from xladoctor.report.text import printable
from xladoctor.report.words import name_of

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_BASES = {
    "%SRCROOT%": {"description": {"text": "The root of the repository."}},
    "PACKAGES": {"description": {"text": "Where Python's packages are installed."}},
}
_BASELINE = {"new": "new", "worse": "updated", "known": "unchanged"}


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write one file with a run for each program."""
    reports = [printable(report, Style()) for report in reports]
    runs = [_run(*pair) for pair in zip(reports, _categories(reports), strict=True)]
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}
    output.write(as_json(log, ascii_only=not style.unicode))


def _categories(reports: Sequence[Report]) -> Iterator[str]:
    names = [name_of(report.diagnosis.run) for report in reports]
    for at, name in enumerate(names):
        nth = names[: at + 1].count(name)
        yield f"xladoctor/{name}" if nth == 1 else f"xladoctor/{name} ({nth})"


def _run(report: Report, category: str) -> dict[str, Any]:
    diagnosis = report.diagnosis
    all_alerts = alerts(report)
    rules = descriptors(report)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    return {
        "tool": {
            "driver": {
                "name": diagnosis.tool.name,
                "version": diagnosis.tool.version,
                "semanticVersion": diagnosis.tool.version,
                "rules": rules,
            }
        },
        "automationDetails": {"id": f"{category}/"},
        "originalUriBaseIds": _BASES,
        "invocations": [_invocation(report, all_alerts, index)],
        "results": [
            _result(alert, alert.place, report, index) for alert in all_alerts if alert.place
        ],
    }


def _result(alert: Alert, place: Location, report: Report, index: dict[str, int]) -> dict[str, Any]:
    run = report.diagnosis.run
    places = related(alert, run)
    result = {
        "ruleId": alert.rule,
        "ruleIndex": index[alert.rule],
        "level": alert.level,
        "message": message(alert, places),
        "locations": [primary(place)],
        "partialFingerprints": {
            "primaryLocationLineHash": alert.fingerprint,
            "xladoctor/v1": alert.fingerprint,
        },
        "relatedLocations": places,
        "codeFlows": code_flows(alert, run),
        **_of_finding(alert),
        "fixes": sarif_fixes(alert, run),
        **_of_gate(alert, report),
    }
    return {key: value for key, value in result.items() if value != []}


def _of_finding(alert: Alert) -> dict[str, Any]:
    """How much it matters: its rank is the share of the loop that a fix saves, from 0 to 100."""
    finding = alert.finding
    if finding is None:
        return {}
    share = finding.saving.share
    figures = {
        "count": finding.count,
        "perStep": finding.per_step,
        "costSeconds": finding.cost.seconds,
        "savingSeconds": finding.saving.seconds,
        "savingBasis": finding.saving.basis,
        "severity": finding.severity,
    }
    return {
        **({} if share is None else {"rank": round(min(max(share, 0.0), 1.0) * 100, 2)}),
        "properties": {key: value for key, value in figures.items() if value is not None},
    }


def _of_gate(alert: Alert, report: Report) -> dict[str, Any]:
    """The finding's state in the baseline, if there is one, and who accepted it."""
    judgement = alert.judgement
    if judgement is None:
        return {}
    known = report.outcome and report.outcome.baseline
    state = _BASELINE.get(judgement.state) if known else None
    accepted = {"kind": "external", "status": "accepted", "justification": judgement.reason}
    return {
        **({"baselineState": state} if state else {}),
        **({"suppressions": [accepted]} if judgement.state == "acknowledged" else {}),
    }


def _invocation(report: Report, all_alerts: list[Alert], index: dict[str, int]) -> dict[str, Any]:
    """The analysis: what was not judged, and which evidence was cut or unreadable."""
    diagnosis = report.diagnosis
    unplaced = [(a.rule, a.level, a.said) for a in all_alerts if not a.place]
    skipped = [(n.rule, "note", f"Not evaluated: {n.reason}.") for n in diagnosis.not_checked]
    requested = [(a.rule, a.level, a.said) for a in missing(report)]
    notes = [*diagnosis.warnings, *(report.outcome.notes if report.outcome else ())]
    execution = [*unplaced, *(("", "note", note) for note in notes)]
    return {
        "executionSuccessful": True,
        "toolConfigurationNotifications": list(_notifications([*skipped, *requested], index)),
        "toolExecutionNotifications": list(_notifications(execution, index)),
    }


def _notifications(
    said: Sequence[tuple[str, str, str]], index: dict[str, int]
) -> Iterator[dict[str, Any]]:
    for rule, level, text in said:
        known = {"associatedRule": {"id": rule, "index": index[rule]}} if rule in index else {}
        yield {"level": level, "message": {"text": text}, **known}
