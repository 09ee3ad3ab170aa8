"""The columns of a rule's rows, which are findings: their types and purposes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from xladoctor.diagnosis.finding import CostBasis, Do, What
from xladoctor.diagnosis.rule import Severity

_Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0, lt=1 << 63)]
_Role = Literal[
    "made", "used", "compiled", "due", "loop", "closure", "collated", "launched", "left"
]


class Claim(BaseModel):
    """As :class:`xladoctor.diagnosis.finding.Claim`."""

    model_config = ConfigDict(extra="forbid")
    do: Do
    what: What
    file: str | None = None
    line: _Count | None = None
    part: Annotated[float, Field(ge=0, le=1)] | None = None
    to_ns: _Number | None = None
    compilations: list[_Count] | None = None


class RuleRow(BaseModel):
    """The columns, all but one of which a row can do without."""

    model_config = ConfigDict(extra="forbid")
    process: _Count = Field(
        0, description="number of the process; rows of several processes at one line are merged"
    )
    file: str | None = Field(
        None, description="path of the guilty line, or NULL if the evidence has no lines"
    )
    line: _Count | None = Field(None, description="number of the guilty line")
    function: str | None = Field(None, description="function that it is in")
    user_file: str | None = Field(
        None, description="the user's line that led there, if the guilty one is a library's"
    )
    user_line: _Count | None = Field(None, description="its number")
    user_function: str | None = Field(None, description="function that it is in")
    related_file: str | None = Field(None, description="another line that explains the finding")
    related_line: _Count | None = Field(None, description="its number")
    related_function: str | None = Field(None, description="function that it is in")
    related_role: _Role | None = Field(
        None,
        description=(
            "made or used (a tensor that matters), compiled (where the graph was cut), due"
            " (the barrier that a step should have), loop (whose body should end with a"
            " barrier), closure (likewise a function that an optimizer calls several times a step),"
            " collated (where batches are put together) or left (what no read asked for)"
        ),
    )
    also_file: str | None = Field(None, description="and one more")
    also_line: _Count | None = Field(None, description="its number")
    also_function: str | None = Field(None, description="function that it is in")
    also_role: _Role | None = Field(None, description="as related_role")
    count: _Count = Field(description="how often")
    per_step: _Number | None = Field(None, description="how often a step")
    cost_ns: _Number | None = Field(None, description="wall time, or NULL if it is not known")
    cost_basis: CostBasis | None = Field(
        None, description="measured, estimate, bound (at most), least (at least) or none"
    )
    claim: Claim | list[Claim | None] | None = Field(
        None, description="what the fix does to the timeline: claim(do, what, …) or a list of them"
    )
    stalls: bool | None = Field(
        None,
        description=(
            "true: stalls an accelerator each step, whatever it costs here (at least a warning)"
        ),
    )
    unbounded: bool | None = Field(
        None, description="true: grows with the length of the run (an error)"
    )
    healthy: bool | None = Field(None, description="true: worth knowing, not worth a warning")
    by_counts: Severity | None = Field(
        None,
        description=(
            "error, warning or info: severity by counts alone, if it does not follow "
            "from stalls, unbounded and healthy"
        ),
    )
    highest: Severity | None = Field(
        None, description="the highest severity of this finding, if that is below the rule's"
    )
    settled: bool | None = Field(
        None,
        description="true: it is over and costs a longer run no more (at most a"
        " warning, if its cost is not known); NULL: it stopped, but may recur",
    )
    outside_loop: bool | None = Field(
        None, description="true: it is before or after the loop, which does not get shorter"
    )
    subject: str | None = Field(
        None,
        description=(
            "distinguishes findings of the rule on the same line: the operator, the setting"
        ),
    )
    compilations: list[_Count] | None = Field(
        None, description="numbers of the compilations that it is about"
    )
    at_most: _Number | None = Field(
        None, description="how often it can happen in a run of any length, if known"
    )
    cause: dict[str, Any] | None = Field(
        None,
        description=(
            "a struct with the concrete values, for the JSON report and the message; "
            "paths in it are called file"
        ),
    )
    phrases: dict[str, str] | None = Field(
        None,
        description="a struct with parts of the message that the query words; reports show"
        " it only within the message",
    )
    consequences: list[str] | None = Field(
        None, description="a list of sentences: what else it causes"
    )

    @model_validator(mode="after")
    def _roles(self) -> RuleRow:
        for place in ("related", "also"):
            if getattr(self, f"{place}_file") and not getattr(self, f"{place}_role"):
                raise ValueError(f"{place}_file without {place}_role")
        return self


#: The purpose of each column.
ROW_COLUMNS = {name: str(field.description) for name, field in RuleRow.model_fields.items()}
