"""Evaluates third-party rules: runs queries and messages in a limited process, checks rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from xladoctor.diagnosis.phrases import TEMPLATES
from xladoctor.diagnosis.rule import Rule, RuleError
from xladoctor.diagnosis.rule_row import RuleRow
from xladoctor.diagnosis.sandbox import contained
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.row import Row
from xladoctor.quantities import clipped

#: Time limits for a query, and for all messages or all fixes of a rule.
QUERY_S, MESSAGES_S = 30.0, 5.0
#: The most rows of a query, and characters of a message.
ROWS, MESSAGE = 1000, 2000
_REASON = 300  # characters of an error that are kept


def rows_of(rule: Rule, evidence: Evidence, parameters: Mapping[str, Any]) -> list[Row]:
    """The rows of the rule's query.

    Raises:
        RuleError: the query fails or exceeds its limits, or a row is invalid.
    """
    database = evidence.database
    database.prepare(rule.query)
    rows, fault = contained(lambda: database.rows(rule.query, parameters, ROWS + 1), QUERY_S)
    if not fault and len(rows) > ROWS:
        fault = f"returned more than {ROWS:,} rows"
    if fault:
        raise RuleError(f"{rule.id}: its query failed: {fault[:_REASON]}")
    return [_checked(rule, row) for row in rows]


def messages_of(rule: Rule, rows: Sequence[Row]) -> list[str]:
    """The rule's message for each row; if it fails, the title and the reason."""
    messages, fault = _rendered(rule.message, rows)
    instead = f"{rule.title}. (The rule's message cannot be shown: {(fault or '')[:_REASON]}.)"
    return messages + [instead] * (len(rows) - len(messages))


def fixes_of(rule: Rule, rows: Sequence[Row]) -> list[str]:
    """The rule's fix for the line of each row; empty if that fails."""
    fixes, _ = _rendered(rule.fix_here, rows)
    return fixes + [""] * (len(rows) - len(fixes))


def _rendered(text: str, rows: Sequence[Row]) -> tuple[list[str], str | None]:
    """A template's text for each row, and why the last are missing, if they are."""

    def rendered() -> Iterator[str]:
        template = TEMPLATES.from_string(text)
        for row in rows:
            whole = " ".join(template.render(row).split())
            yield clipped(whole, MESSAGE)

    return contained(rendered, MESSAGES_S)


def _checked(rule: Rule, row: Any) -> Row:
    """The row, if all its columns are valid.

    Raises:
        RuleError: names the first invalid column.
    """
    try:
        return RuleRow.model_validate(row).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors()[0]
        places = (str(place) for place in first["loc"])  # with the types that a union tried
        column = ".".join(place for place in places if place != "Claim") or "its columns"
        raise RuleError(
            f"{rule.id}: its query returns a row whose {column} cannot be used:"
            f" {first['msg'].removeprefix('Value error, ')}"
        ) from error
