"""Rules that others wrote: their queries and messages run contained, their rows are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from xladoctor.diagnosis.contained import contained
from xladoctor.diagnosis.interface import CostBasis
from xladoctor.diagnosis.rule import TEMPLATES, Rule, RuleError, Severity
from xladoctor.evidence.interface import Evidence

Row = dict[str, Any]
#: How long a query may take, and the messages of a rule together.
QUERY_S, MESSAGES_S = 30.0, 5.0
#: How many rows a query may return, and how many characters a message may have.
ROWS, MESSAGE = 1000, 2000
_REASON = 300  # characters of what went wrong

_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0, lt=1 << 63)]
_Role = Literal["made", "used", "compiled", "due", "loop", "collated"]


def rows_of(rule: Rule, evidence: Evidence, parameters: Mapping[str, Any]) -> list[Row]:
    """The rows of the rule's query.

    Raises:
        RuleError: the query fails or takes too much, or a row cannot be used.
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
    """The rule's message for each row; where it cannot be made, the title and the reason."""

    def rendered() -> Iterator[str]:
        template = TEMPLATES.from_string(rule.message)
        for row in rows:
            text = " ".join(template.render(row).split())
            yield text if len(text) <= MESSAGE else f"{text[: MESSAGE - 1]}…"

    messages, fault = contained(rendered, MESSAGES_S)
    instead = f"{rule.title}. (The rule's message cannot be shown: {(fault or '')[:_REASON]}.)"
    return messages + [instead] * (len(rows) - len(messages))


class _Claim(BaseModel):
    """As :class:`xladoctor.diagnosis.interface.Claim`."""

    model_config = ConfigDict(extra="forbid")
    do: str
    what: str
    file: str | None = None
    line: _Count | None = None
    part: Annotated[float, Field(ge=0, le=1)] | None = None
    to_ns: _Number | None = None
    compilations: list[_Count] | None = None


class _Row(BaseModel):
    """The columns that ``ROW_COLUMNS`` describes."""

    model_config = ConfigDict(extra="forbid")
    process: _Count = 0
    file: str | None = None
    line: _Count | None = None
    function: str | None = None
    user_file: str | None = None
    user_line: _Count | None = None
    user_function: str | None = None
    related_file: str | None = None
    related_line: _Count | None = None
    related_function: str | None = None
    related_role: _Role | None = None
    also_file: str | None = None
    also_line: _Count | None = None
    also_function: str | None = None
    also_role: _Role | None = None
    count: _Count
    per_step: _Number | None = None
    cost_ns: _Number | None = None
    cost_basis: CostBasis | None = None
    claim: _Claim | list[_Claim | None] | None = None
    stalls: bool | None = None
    unbounded: bool | None = None
    healthy: bool | None = None
    by_counts: Severity | None = None
    settled: bool | None = None
    subject: str | None = None
    compilations: list[_Count] | None = None
    at_most: _Number | None = None
    cause: dict[str, Any] | None = None
    consequences: list[str] | None = None

    @model_validator(mode="after")
    def _roles(self) -> _Row:
        for place in ("related", "also"):
            if getattr(self, f"{place}_file") and not getattr(self, f"{place}_role"):
                raise ValueError(f"{place}_file without {place}_role")
        return self


def _checked(rule: Rule, row: Any) -> Row:
    """The row, if each column that it has can be used.

    Raises:
        RuleError: names the first that cannot.
    """
    try:
        return _Row.model_validate(row).model_dump(exclude_unset=True)
    except ValidationError as error:
        first = error.errors()[0]
        column = ".".join(map(str, first["loc"])) or "its columns"
        raise RuleError(f"{rule.id}: its query returns a row whose {column} cannot be used:"
                        f" {first['msg'].removeprefix('Value error, ')}") from error  # fmt: skip
