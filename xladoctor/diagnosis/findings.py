"""Makes findings from the rows of a rule's query: merged by line, with cost and message."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from xladoctor.diagnosis import barriers, ranking, third_party
from xladoctor.diagnosis.construct import deciding
from xladoctor.diagnosis.finding import NO_SAVING, Cost, CostBasis, Finding, Location, Saving
from xladoctor.diagnosis.identity import distinct, fingerprint
from xladoctor.diagnosis.interface import TimeSpent
from xladoctor.diagnosis.phrases import TEMPLATES
from xladoctor.diagnosis.place import place_of
from xladoctor.diagnosis.rule import Rule, RuleError, Severity
from xladoctor.diagnosis.rule_row import ROW_COLUMNS
from xladoctor.diagnosis.same_call import by_call, joined
from xladoctor.diagnosis.savings import Savings
from xladoctor.diagnosis.source_line import without_comment
from xladoctor.diagnosis.span import span
from xladoctor.diagnosis.whatif import Fix, claims_of
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row
from xladoctor.evidence.source import source_line

_PLACES = {"guilty": "", "caller": "user_", "related": "related_", "also": "also_"}

_TOLD = {"related", "also"}  # places whose role is a column of the row
_template = cache(TEMPLATES.from_string)
#: Seconds; a tenth of a run that is over at once is nothing to act upon.
_LEAST_AVOIDABLE_S = 1.0


def from_rows(
    rule: Rule, rows: list[Row], evidence: Evidence, time: TimeSpent, savings: Savings
) -> list[Finding]:
    """One finding for each line and subject, however many processes have it."""
    places: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        unknown = sorted(set(row) - set(ROW_COLUMNS))
        if unknown:
            raise RuleError(f"{rule.id}: its query returns unknown columns: {', '.join(unknown)}")
        if row.get("count") is None:
            raise RuleError(f"{rule.id}: its query returns a row without a count")
    for row in by_call(rows, evidence) if rule.events == "host_syncs" else rows:
        places[row.get("file"), row.get("line"), _subject(row)].append(row)
    groups = list(places.values())
    contexts = [_message_values(_worst(group), evidence) for group in groups]
    messages = (
        third_party.messages_of(rule, contexts)
        if rule.foreign
        else [_rendered(rule, rule.message, values) for values in contexts]
    )
    found = [
        _finding(rule, group, message, evidence, time, savings)
        for group, message in zip(groups, messages, strict=True)
    ]
    return distinct(_with_own_fixes(rule, groups, found, evidence))


def _worst(rows: list[Row]) -> Row:
    """The row with the highest cost: threads run in parallel, so the user waits for the slowest.

    Compilations of one process add up, whatever asked for them.
    """
    worst = max(rows, key=lambda row: (row.get("cost_ns") or 0, row.get("count") or 0))
    same = [row for row in rows if row.get("process") == worst.get("process")]
    numbers = [number for row in same for number in row.get("compilations") or ()]
    if not all(row.get("compilations") for row in same) or len(set(numbers)) < len(numbers):
        return worst
    rest = [row for row in same if row is not worst]
    return joined(worst, rest) | {"compilations": numbers, "count": worst["count"]}


def _subject(row: Row) -> str:
    return str(row.get("subject") or "")


def _finding(
    rule: Rule,
    rows: list[Row],
    message: str,
    evidence: Evidence,
    time: TimeSpent,
    savings: Savings,
) -> Finding:
    worst = _worst(rows)
    cost = _cost(worst, time)
    saving = savings.saving(cost, _effect(rule, worst)) if rule.curable else NO_SAVING
    locations = _decided(rule, worst, located(worst, evidence), evidence)
    return Finding(
        rule=rule.id,
        name=rule.name,
        title=rule.title,
        locations=locations,
        severity=_severity(
            worst,
            worst.get("highest") or rule.severity,
            _lost(saving, cost, worst, time),
            0.0 if rule.spares_later_runs else _avoidable(saving, cost, time),
        ),
        severity_by_counts=max(
            (_severity_by_counts(rule, row) for row in rows), key=ranking.LEVELS.index
        ),
        count=max(int(row["count"]) for row in rows),
        per_step=_rounded(max((row.get("per_step") or 0 for row in rows), default=0) or None),
        processes=sorted({str(row.get("process", 0)) for row in rows}),
        cost=cost,
        saving=saving,
        cause=_cause(worst, evidence),
        consequences=list(worst.get("consequences") or []),
        message=message,
        why=rule.why.strip(),
        fix=rule.fix.strip(),
        example=rule.code.after.strip("\n") if rule.code else "",
        fingerprint=fingerprint(rule.id, _subject(worst), locations, evidence),
        subject=_subject(worst),
        recurs=rule.recurs,
        about=rule.about,
        compilations=list(worst.get("compilations") or []),
        place=None
        if locations
        else place_of(
            rule, int(worst.get("process") or 0), worst.get("compilations") or [], evidence
        ),
    )


def _cause(row: Row, evidence: Evidence) -> dict[str, Any]:
    return {
        key: _shown(value, evidence)
        for key, value in (row.get("cause") or {}).items()
        if value is not None
    }


def _shown(value: Any, evidence: Evidence) -> Any:
    """A value of a cause, with paths as reports show them."""
    if isinstance(value, list):
        return [_shown(item, evidence) for item in value]
    if isinstance(value, dict):
        return {
            key: evidence.shown(item) if key == "file" else _shown(item, evidence)
            for key, item in value.items()
        }
    return value


def _severity_by_counts(rule: Rule, row: Row) -> Severity:
    if row.get("by_counts"):  # `healthy` may depend on a time
        return row["by_counts"]  # type: ignore[no-any-return]
    return _severity(row, rule.severity)


def _severity(
    row: Row, ceiling: Severity, lost: float | None = None, avoidable: float = 0.0
) -> Severity:
    return ranking.severity(
        lost,
        stalls=bool(row.get("stalls")),
        unbounded=bool(row.get("unbounded")),
        healthy=bool(row.get("healthy")),
        settled=bool(row.get("settled")),
        ceiling=ceiling,
        avoidable=avoidable,
    )


def _with_own_fixes(
    rule: Rule, groups: list[list[Row]], found: list[Finding], evidence: Evidence
) -> list[Finding]:
    """The findings, each with the fix for its cause, if the rule has one."""
    if not rule.fix_here:
        return found
    values = [
        _fix_values(_worst(group), finding.locations, evidence)
        for group, finding in zip(groups, found, strict=True)
    ]
    fixes = (
        third_party.fixes_of(rule, values)
        if rule.foreign
        else [_rendered(rule, rule.fix_here, each) for each in values]
    )
    return [
        replace(finding, fix=fix or finding.fix) for finding, fix in zip(found, fixes, strict=True)
    ]


def _fix_values(row: Row, locations: list[Location], evidence: Evidence) -> Row:
    """The values that a fix by cause can use."""
    source = locations[0].source if locations else None
    return {
        **_message_values(row, evidence),
        **barriers.around(row, source, evidence),
        "source": without_comment(source or "").strip(),
    }


def _effect(rule: Rule, row: Row) -> Fix:
    return Fix(
        int(row.get("process") or 0),
        claims_of(rule.id, row.get("claim")),
        int(row["count"]),
        settled=row.get("settled", False),
        at_most=row.get("at_most"),
        outside_loop=bool(row.get("outside_loop")),
    )


def _avoidable(saving: Saving, cost: Cost, time: TimeSpent) -> float:
    """The share of this run that a fix is known to save of compiling: waits may just move."""
    compiling = bool(saving.assumes) and all(claim.what == "compile" for claim in saving.assumes)
    known = saving.basis == "estimate" or cost.basis == "measured"
    if not (compiling and known and time.whole_s) or (saving.seconds or 0.0) < _LEAST_AVOIDABLE_S:
        return 0.0
    return (saving.seconds or 0.0) / time.whole_s


def _lost(saving: Saving, cost: Cost, row: Row, time: TimeSpent) -> float | None:
    """The share lost of this run or, if it goes on and that is larger, of its loop, which is that
    of a long run.
    """
    seconds = saving.seconds if saving.basis == "estimate" else cost.seconds
    if seconds is None or not time.whole_s:
        return None
    of_run = min(1.0, seconds / time.whole_s)
    goes_on = row.get("settled", False) is False
    if not goes_on or not time.steady_s:
        return of_run
    if saving.basis == "estimate" and saving.now_ms and saving.after_ms is not None:
        return max(of_run, 1.0 - saving.after_ms / saving.now_ms)  # a longer run warms up once
    return min(1.0, seconds / min(time.steady_s, time.whole_s))


def _cost(row: Row, time: TimeSpent) -> Cost:
    nanoseconds = row.get("cost_ns")
    if nanoseconds is None:
        return Cost(None, None, "none")
    seconds = nanoseconds / 1e9
    basis: CostBasis = row.get("cost_basis") or "measured"
    if not time.whole_s:
        return Cost(seconds, None, basis)
    return Cost(min(seconds, time.whole_s), min(1.0, seconds / time.whole_s), basis)


def located(row: Row, evidence: Evidence) -> list[Location]:
    """The locations in a row, each with its role and text."""
    locations: list[Location] = []
    for role, prefix in _PLACES.items():
        file, line = row.get(f"{prefix}file"), row.get(f"{prefix}line")
        if file is None or line is None:
            continue
        its = row[f"{prefix}role"] if role in _TOLD else role
        at = location(evidence, file, line, row.get(f"{prefix}function"), its)
        if any((known.file, known.line) == (at.file, line) for known in locations):
            continue
        locations.append(at if locations else replace(at, span=_span(row, at.source)))
    return locations


def location(
    evidence: Evidence, file: str, line: int, function: str | None, role: Any = "guilty"
) -> Location:
    """A line as reports show it, with its text."""
    shown, text = evidence.shown(file) or file, source_line(evidence, file, line)
    return Location(shown, line, function or None, role, text)


def _decided(rule: Rule, row: Row, locations: list[Location], evidence: Evidence) -> list[Location]:
    """The locations, with the construct that decides about the operation as the first."""
    place = deciding(rule.decided_by, row, evidence) if rule.decided_by else None
    if place is None or not locations:
        return locations
    first = location(evidence, *place)
    rest = [
        replace(each, role="operation") if each.role == "guilty" else each
        for each in locations
        if each.role == "loop" or (each.file, each.line) != (first.file, first.line)
    ]
    return [first, *rest]


def _span(row: Row, source: str | None) -> tuple[int, int] | None:
    """The expression in the line that the finding is about, by the names in its cause: kinds of
    reads, or an operator.
    """
    cause = row.get("cause")
    if not source or not isinstance(cause, Mapping):
        return None
    kinds = cause.get("kinds") or []
    operator = str(cause.get("op") or "").rpartition("::")[2]
    called = re.findall(r"\b(\w+)\(", cause.get("call") or "")
    names = [*kinds, *filter(None, [operator]), *called]
    if not names:
        return None
    return span(source, names) or (None if kinds else span(source, ()))


def _message_values(row: Row, evidence: Evidence) -> Row:
    """The values that a message can use."""
    values = {**row, "cause": defaultdict(lambda: None, _cause(row, evidence))}
    for key in ("file", "user_file", "related_file", "also_file"):
        values[key] = evidence.shown(row.get(key))
    return values


def _rendered(rule: Rule, text: str, values: Row) -> str:
    try:
        text = _template(text).render(values)
    except Exception as error:  # a template can raise anything
        raise RuleError(f"{rule.id}: its message failed: {error}") from error
    return " ".join(text.split())


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 4)
