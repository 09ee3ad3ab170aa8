"""A rule: its file format, loading and validation.

A rule is a YAML file that is its own documentation page. Its ``query`` is one SELECT over the
evidence; each row is a finding. The columns that a row may have are in :data:`ROW_COLUMNS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import duckdb
import yaml
from jinja2 import StrictUndefined, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from xladoctor.diagnosis.interface import RuleError, Severity
from xladoctor.evidence.catalog import views
from xladoctor.evidence.schema import TABLES

ROW_COLUMNS = {
    "process": "number of the process; rows of several processes at one line are merged",
    "file": "path of the guilty line, or NULL where the evidence has no lines",
    "line": "the guilty line",
    "function": "function that it is in",
    "user_file": "the user's line that led there, where the guilty one is a library's",
    "user_line": "that line",
    "user_function": "function that it is in",
    "related_file": "another line that explains the finding",
    "related_line": "that line",
    "related_function": "function that it is in",
    "related_role": "made or used (a tensor that matters), compiled (where the graph was cut),"
    " due (the barrier that a step should have)",
    "count": "how often",
    "per_step": "how often a step",
    "cost_ns": "wall time, or NULL where it is not known",
    "cost_basis": "measured, estimate, bound or none",
    "claim": "what the fix does to the timeline: claim(do, what, …) or a list of them",
    "stalls": "true: stalls an accelerator each step, whatever it costs here (at least a warning)",
    "unbounded": "true: grows with the length of the run (an error)",
    "healthy": "true: worth knowing, not worth a warning",
    "by_counts": "error, warning or info: how bad it is by its counts alone, where that is not what"
    " stalls, unbounded and healthy say",
    "settled": "true: it is over, a longer run has no more of it (at most a warning)",
    "cause": "a struct with the concrete values, for the JSON report and the message",
    "consequences": "a list of sentences: what else it brings",
}
#: Messages of rules from strangers can do nothing but put words together.
TEMPLATES = ImmutableSandboxedEnvironment(
    undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where PyYAML was built so


class Example(BaseModel):
    """Code that triggers the rule, and the same healed."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    before: str
    after: str


class AppliesTo(BaseModel):
    """Where the rule makes sense."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    frontend: list[str] = ["torch_xla"]
    device: list[str] = ["any"]


class Rule(BaseModel):
    """A rule as its file says it; see ``docs/rules.md`` for each field."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str = Field(pattern=r"^XD\d{3}$")
    name: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
    title: str = Field(min_length=8, max_length=72)
    category: Literal[
        "recompilation", "synchronization", "barriers", "lowering", "input", "device",
        "environment", "multi-device", "capture",
    ]  # fmt: skip
    severity: Severity
    confidence: Literal["high", "medium", "low"]
    judged_by: Literal["counts", "time"]
    status: Literal["preview", "stable", "deprecated"]
    since: str
    replaces: list[str] = []
    applies_to: AppliesTo = AppliesTo()
    needs: list[str] = Field(min_length=1)
    not_evaluated: dict[str, str]
    needs_rows: dict[str, str] = {}
    thresholds: dict[str, float] = {}
    query: str
    message: str
    why: str
    fix: str
    example: Example
    false_positives: str
    references: list[str] = []

    @field_validator("needs")
    @classmethod
    def _known_tables(cls, value: list[str]) -> list[str]:
        unknown = [name for need in value for name in need.split("|") if name not in TABLES]
        if unknown:
            raise ValueError(f"no such table: {', '.join(unknown)}")
        return value

    @field_validator("needs_rows")
    @classmethod
    def _known_sources(cls, value: dict[str, str]) -> dict[str, str]:
        unknown = sorted(set(value) - set(TABLES) - set(views()))
        if unknown:
            raise ValueError(f"no such table or view: {', '.join(unknown)}")
        return value

    @field_validator("query")
    @classmethod
    def _one_select(cls, value: str) -> str:
        try:
            statements = duckdb.extract_statements(value)
        except duckdb.Error as error:
            raise ValueError(f"not SQL: {str(error).splitlines()[0]}") from error
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise ValueError("must be one SELECT (or WITH … SELECT)")
        return value

    @field_validator("message")
    @classmethod
    def _template(cls, value: str) -> str:
        try:
            TEMPLATES.parse(value)
        except TemplateSyntaxError as error:
            raise ValueError(f"not a template: {error}") from error
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Rule:
        missing = sorted(set(self.needs) - set(self.not_evaluated))
        if missing:
            raise ValueError(f"not_evaluated has no sentence for: {', '.join(missing)}")
        used = set(re.findall(r"\$([a-z_]+)", self.query))
        if used != set(self.thresholds):
            odd = ", ".join(sorted(used ^ set(self.thresholds)))
            raise ValueError(f"thresholds and the query's $parameters differ: {odd}")
        return self


def load_rules(folder: Path | None = None) -> list[Rule]:
    """All rules of a folder (the pack that comes with xladoctor by default), by id.

    Raises:
        RuleError: naming every defect of every file, each with its line.
    """
    rules, problems = [], []
    for path in sorted(_rule_files(folder)):
        try:
            rules.append(load_rule(path))
        except RuleError as error:
            problems.append(error.what)
    ids = [rule.id for rule in rules]
    problems += [f"{i}: two rules have this id" for i in sorted(set(ids)) if ids.count(i) > 1]
    if problems:
        raise RuleError("\n".join(problems), "see docs/rules.md for the format of a rule")
    return rules


def _rule_files(folder: Path | None) -> Iterator[Path]:
    return (folder or pack()).glob("*.yaml")


def pack() -> Path:
    """The folder of the rule pack: in the wheel inside the package, in a checkout beside it."""
    inside = Path(str(resources.files("xladoctor"))) / "rules"
    return inside if inside.is_dir() else inside.parent.parent / "rules"


def load_rule(path: Path) -> Rule:
    """Read and validate one rule file. Raises RuleError with file and line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}:1: cannot be read: {error}") from error
    try:
        data = yaml.load(text, _Loader)  # noqa: S506  # safe: one of these two
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise RuleError(f"{path}:{line}: not YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(data, dict):
        raise RuleError(f"{path}:1: expected a mapping with id, name, title, …")
    try:
        rule = Rule.model_validate(data)
    except ValidationError as error:
        node = yaml.compose(text, _Loader)
        lines = [
            f"{path}:{_line_of(node, item['loc'])}: {'.'.join(map(str, item['loc'])) or 'rule'}:"
            f" {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise RuleError("\n".join(lines)) from error
    if path.stem != f"{rule.id}-{rule.name}":
        raise RuleError(f"{path}:1: the file must be named {rule.id}-{rule.name}.yaml")
    return rule


def _line_of(node: Any, location: tuple[Any, ...]) -> int:
    """The line (from 1) of the deepest part of ``location`` that the file has."""
    line = node.start_mark.line + 1
    for key in location:
        if isinstance(node, yaml.MappingNode):
            match = [(k, v) for k, v in node.value if k.value == key]
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            match = [(v, v) for v in node.value[key : key + 1]]
        else:
            match = []
        if not match:
            break
        line, node = match[0][0].start_mark.line + 1, match[0][1]
    return int(line)
