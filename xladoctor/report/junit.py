"""JUnit XML: a suite for each program, a test case for each rule and each budget, and for what of
the run was not seen.

There is no standard; this is what Jenkins' xUnit plugin (``junit-10.xsd``) and pytest's ``xunit2``
have in common. A rule passes where it is clear or finds only what is tolerated or known, fails
where the gate fails (without a gate: from a warning on), and is skipped where it was not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO
from xml.etree import ElementTree as ET

from xladoctor.gate.interface import BudgetOutcome
from xladoctor.report.alerts import Alert, alerts, budget_text
from xladoctor.report.interface import Report, Style
from xladoctor.report.text import printable
from xladoctor.report.words import name_of

_COUNTED = {"tests": "testcase", "failures": "failure", "skipped": "skipped"}


def render(reports: Sequence[Report], output: TextIO, style: Style) -> None:
    """Write one document; characters that XML cannot hold are shown as escapes."""
    root = ET.Element("testsuites", name="xladoctor")
    root.extend(_suite(printable(report, Style())) for report in reports)
    _count(root, ("tests", "failures"))
    ET.indent(root, " ")
    text = ET.tostring(root, "unicode" if style.unicode else "us-ascii", xml_declaration=False)
    written = text if isinstance(text, str) else text.decode("ascii")
    output.write(f'<?xml version="1.0" encoding="UTF-8"?>\n{written}\n')


def _suite(report: Report) -> ET.Element:
    name = name_of(report.diagnosis.run)
    suite = ET.Element("testsuite", name=name)
    suite.extend(_rules(report, name))
    suite.extend(_budgets(report, name))
    suite.extend(_unseen(report, name))
    _count(suite, tuple(_COUNTED))
    if report.diagnosis.time.total_s is not None:
        suite.set("time", f"{report.diagnosis.time.total_s:.3f}")
    return suite


def _count(element: ET.Element, names: Sequence[str]) -> None:
    for name in names:
        element.set(name, str(sum(1 for _ in element.iter(_COUNTED[name]))))
    element.set("errors", "0")


def _rules(report: Report, name: str) -> Iterator[ET.Element]:
    outcomes = report.diagnosis.rules
    pack = report.diagnosis.pack
    reasons = {skipped.rule: skipped.reason for skipped in report.diagnosis.not_checked}
    requested = {missing.name for missing in report.outcome.missing} if report.outcome else set()
    of_findings = [alert for alert in alerts(report) if alert.finding]
    for rule in sorted({*outcomes.fired, *outcomes.clear, *reasons}):
        here = [alert for alert in of_findings if alert.rule == rule]
        known = pack.get(rule)
        title = known.name if known else here[0].name if here else ""
        case = _case(name, known.category if known else "rules", f"{rule} {title}".strip())
        if rule in reasons:
            _skip(case, reasons[rule], rule in requested)
        _judge(case, here, report)
        yield case


def _judge(case: ET.Element, here: list[Alert], report: Report) -> None:
    failing = [alert for alert in here if _fails(alert, report)]
    if failing:
        rest = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
        failure = ET.SubElement(
            case, "failure", type=failing[0].level, message=f"{failing[0].title}{rest}"
        )
        failure.text = _text(failing)
    others = [alert for alert in here if alert not in failing]
    if others:
        ET.SubElement(case, "system-out").text = _text(others)


def _fails(alert: Alert, report: Report) -> bool:
    return alert.level != "note" if report.outcome is None else alert.level == "error"


def _text(said: Sequence[Alert]) -> str:
    """Each with its line, what was found and the fix."""
    return "\n\n".join(
        "\n".join(
            [
                f"{alert.place.file}:{alert.place.line}" if alert.place else "no line known",
                *alert.text,
                *([f"Fix: {' '.join(alert.finding.fix.split())}"] if alert.finding else []),
            ]
        )
        for alert in said
    )


def _budgets(report: Report, name: str) -> Iterator[ET.Element]:
    requested = {missing.name for missing in report.outcome.missing} if report.outcome else set()
    for budget in report.outcome.budgets if report.outcome else ():
        case = _case(name, "budgets", budget.name)
        if budget.state == "unknown":
            _skip(case, budget.reason, budget.name in requested)
        else:
            _keep(case, budget, " ".join(budget_text(budget, report.diagnosis)))
        yield case


def _unseen(report: Report, name: str) -> Iterator[ET.Element]:
    """What is missing and is neither rule nor budget: steps, or what the capture lost."""
    outcome = report.outcome
    if outcome is None:
        return
    rules = {skipped.rule for skipped in report.diagnosis.not_checked}
    budgets = {budget.name for budget in outcome.budgets}
    for missing in outcome.missing:
        if missing.name not in rules | budgets:
            case = _case(name, "run", missing.name)
            _skip(case, missing.reason, requested=True)
            yield case


def _keep(case: ET.Element, budget: BudgetOutcome, text: str) -> None:
    if budget.state == "over":
        failure = ET.SubElement(case, "failure", type="error", message=text.partition(". ")[0])
        failure.text = text
    else:
        ET.SubElement(case, "system-out").text = text


def _case(name: str, family: str, title: str) -> ET.Element:
    """A test case; its class carries the program, since GitLab ignores the name of a suite."""
    return ET.Element("testcase", classname=f"{name}.{family}", name=title)


def _skip(case: ET.Element, reason: str, requested: bool) -> None:
    why = f"asked for but not evaluated: {reason}" if requested else f"not evaluated: {reason}"
    ET.SubElement(case, "skipped", type="not evaluated", message=why)
