"""A case of a rule: evidence as small tables, and what the rule must find in it.

``docs/rule-cases.md`` explains the form.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from xladoctor.evidence.schema import TABLES
from xladoctor.frontends.vocabulary import DEFAULT, vocabularies

_MOST_ROWS = 100_000


def known_frontend(name: str) -> str:
    """The name of a frontend. Raises ValueError for others."""
    if name not in vocabularies():
        raise ValueError(f"no such frontend: {name} (known: {', '.join(vocabularies())})")
    return name


Frontend = Annotated[str, AfterValidator(known_frontend)]


class Series(BaseModel):
    """A value that differs from row to row: ``from`` + ``by`` · i, in the braces of ``text``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    start: int | float = Field(alias="from", description="the value of the first row")
    by: int | float = Field(default=1, description="what each row adds")
    text: str | None = Field(default=None, description="a text with braces for the number")


class Expected(BaseModel):
    """A finding, by the values that matter; what is left out may be anything."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    rule: str = Field(default="", description="the rule's id, if not the one that the case is of")
    severity: Literal["error", "warning", "info"] | None = Field(
        default=None, description="its severity"
    )
    file: str | None = Field(default=None, description="path of the guilty line")
    line: int | None = Field(default=None, description="number of that line")
    count: int | None = Field(default=None, description="how often")
    per_step: float | None = Field(default=None, description="how often a step, to four places")
    processes: list[str] | None = Field(default=None, description="processes that have it")
    cost_s: float | None = Field(default=None, description="its cost in seconds")
    basis: str | None = Field(
        default=None, description="what the cost is: measured, estimate, bound or none"
    )
    consequences: list[str] | None = Field(default=None, description="what else it causes")
    related: list[str] | None = Field(
        default=None, description="its other lines, each as `role file:line`"
    )
    cause: dict[str, Any] | None = Field(default=None, description="some values of its cause")
    message: str | None = Field(default=None, description="a part of its message")
    fix: str | None = Field(default=None, description="a part of its fix")


class Case(BaseModel):
    """A case: evidence, and all findings in it in order, or why the rule cannot judge it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    case: str = Field(min_length=8, description="what the program does, a sentence")
    frontend: Frontend = Field(
        default=DEFAULT, description="the framework that the program is written in"
    )
    tries: list[str] = Field(
        default=[], description="words of each sentence in false_positives that it tries"
    )
    tables: dict[str, list[dict[str, Any]]] = Field(
        default={}, description="rows with the columns that matter; the others have defaults"
    )
    graphs: list[dict[str, Any]] = Field(
        default=[], description="compiled graphs: hash, inputs, instructions, columns of hlo_module"
    )
    expect: list[Expected] | None = Field(default=None, description="all findings, in order")
    not_evaluated: str | None = Field(
        default=None, description="the sentence that says why the rule cannot judge it"
    )

    @field_validator("tables")
    @classmethod
    def _check_tables(
        cls, value: dict[str, list[dict[str, Any]]]
    ) -> dict[str, list[dict[str, Any]]]:
        if unknown := sorted(set(value) - set(TABLES)):
            raise ValueError(f"no such table: {', '.join(unknown)}")
        for table, rows in value.items():
            used = {column for row in rows for column in row}
            if unknown := sorted(used - set(TABLES[table].columns) - {"rows"}):
                raise ValueError(f"table {table} has no column {', '.join(unknown)}")
            for row in rows:
                _check_row(row)
        return value

    @field_validator("graphs")
    @classmethod
    def _known_columns(cls, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        known = {"rows", "hash", "inputs", "instructions", *TABLES["hlo_module"].columns}
        if unknown := sorted({column for row in value for column in row} - known):
            raise ValueError(f"a graph has no {', '.join(unknown)}")
        for row in value:
            if "hash" not in row:
                raise ValueError("a graph needs its hash")
            _check_row(row)
        return value

    @model_validator(mode="after")
    def _expects(self) -> Case:
        if self.expect is None and self.not_evaluated is None:
            raise ValueError("expected `expect` (a list, empty for none) or `not_evaluated`")
        return self


def _check_row(row: dict[str, Any]) -> None:
    """Raises ValueError."""
    rows = row.get("rows", 1)
    if not isinstance(rows, int) or not 0 <= rows <= _MOST_ROWS:
        raise ValueError(f"rows: {rows} is not a number from 0 to {_MOST_ROWS:,}")
    for value in row.values():
        _check_series(value)


def _check_series(value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _check_series(item)
    elif isinstance(value, dict):
        series = Series.model_validate(value)
        if series.text is not None:
            try:
                series.text.format(series.start)
            except (LookupError, ValueError, AttributeError) as error:
                raise ValueError(f"text: {series.text!r} is not a text with braces") from error
