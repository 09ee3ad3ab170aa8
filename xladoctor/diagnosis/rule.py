"""A rule: the format of its file, and what makes it valid.

A rule is a YAML file from which its documentation page is made. Its ``query`` is one SELECT over
the evidence; each row is a finding. The columns that a row may have are in :mod:`.rule_row`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from xladoctor.diagnosis.case import Case, Frontend, known_frontend
from xladoctor.diagnosis.example import Example, ExampleOrPair, of_pair
from xladoctor.errors import XladoctorError
from xladoctor.evidence.allowlist import not_of_the_evidence
from xladoctor.evidence.catalog import views
from xladoctor.evidence.schema import TABLES
from xladoctor.facts.parts import PartName
from xladoctor.frontends.vocabulary import DEFAULT, frontends_with, in_words, vocabulary
from xladoctor.frontends.vocabulary_file import FrontendTrait
from xladoctor.repository import from_here

#: The validation context for third-party rules. The pack's own queries and templates, which tests
#: validate in it, are not parsed each time: that takes a sixth of a second.
FOREIGN = "foreign"
Severity = Literal["error", "warning", "info"]
#: What limits a loop, as the verdict names it.
BoundBy = Literal[
    "compilation",
    "host_sync",
    "input",
    "tracing",
    "dispatch",
    "upload",
    "checkpoint",
    "device",
    "collectives",
    "missing_barrier",
    "slow_host",
    "unknown",
]
#: What a rule judges: the loop's time, what the program computes, or settings, the capture,
#: and what a compiler decided, of which no time is known.
About = Literal["loop", "results", "run"]
#: What can be counted in a block of a program, and expected of it.
Events = Literal["compilations", "host_syncs", "fallbacks"]
#: What decides about an operation: the loop that repeats it, or the condition above it.
Construct = Literal["loop", "condition"]


class RuleError(XladoctorError):
    """A rule that cannot be used; names its file, the line and what was expected."""


_WORDS = "{{ words."


def _known_key(name: str) -> str:
    return name if name in get_args(FrontendTrait) else known_frontend(name)


#: The key of texts: a frontend, or a trait of frontends.
Key = Annotated[str, AfterValidator(_known_key)]


class AppliesTo(BaseModel):
    """What the rule makes sense for: frontends by what they do, or by name; evidence that is only
    there on request.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    trait: list[FrontendTrait] = []
    frontend: list[Frontend] = []
    with_table: str | None = None
    without_table: str | None = None

    def to(self, available: Collection[str]) -> bool:
        """Whether it makes sense for evidence that has these tables."""
        return (self.with_table is None or self.with_table in available) and (
            self.without_table not in available
        )

    @property
    def frontends(self) -> list[str]:
        """The names of the frontends; the default one if nothing is given."""
        named = [*frontends_with(self.trait), *self.frontend]
        return list(dict.fromkeys(named)) or [DEFAULT]


class RuleVerdict(BaseModel):
    """What limits a program with a serious finding of the rule, whatever its times say."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    bound_by: BoundBy
    text: str


def _template(value: str, info: ValidationInfo) -> str:
    if info.context != FOREIGN:
        return value
    from jinja2 import TemplateError

    from xladoctor.diagnosis.phrases import TEMPLATES

    try:
        TEMPLATES.parse(value)
    except (TemplateError, RecursionError) as error:
        raise ValueError(f"not a template: {error}") from error
    return value


#: Keys that have a sentence for each table or view.
_SENTENCES = ("not_evaluated", "needs_rows", "clear_needs_rows")
Title = Annotated[str, Field(min_length=8, max_length=72)]
Message = Annotated[str, AfterValidator(_template)]


class Texts(BaseModel):
    """The rule's texts for one frontend, where they differ."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: Title | None = None
    not_evaluated: dict[str, str] = {}
    needs_rows: dict[str, str] = {}
    clear_needs_rows: dict[str, str] = {}
    message: Message | None = None
    why: str | None = None
    fix: str | None = None
    fix_here: Message | None = None
    untried: str | None = None
    example: ExampleOrPair | None = None
    false_positives: str | None = None
    references: list[str] | None = None


class Rule(BaseModel):
    """A rule as its file says it: ``rule_schema.KEYS`` has what each field is for."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str = Field(pattern=r"^[A-Z]{2,}\d{3,4}$", examples=["ACME001"])
    name: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", examples=["odd-thing"])
    title: Title
    category: Literal[
        "recompilation",
        "synchronization",
        "barriers",
        "lowering",
        "input",
        "device",
        "environment",
        "multi-device",
        "pod",
        "capture",
    ]
    severity: Severity
    confidence: Literal["high", "medium", "low"]
    judged_by: Literal["counts", "time"]
    about: About = "loop"
    recurs: bool = True
    curable: bool = True
    waits: bool = False
    spares_later_runs: bool = False
    parts: list[PartName] = []
    covers: list[str] = []
    events: Events | None = None
    causes: list[str] = []
    decided_by: Construct | None = None
    reads: list[str] = []
    verdict: RuleVerdict | None = None
    status: Literal["preview", "stable", "deprecated"]
    since: str
    evidence: str | None = None
    applies_to: AppliesTo = AppliesTo()
    needs: list[str] = Field(min_length=1)
    not_evaluated: dict[str, str]
    needs_rows: dict[str, str] = {}
    clear_needs_rows: dict[str, str] = {}
    needs_steps: int = Field(default=0, ge=0)
    thresholds: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = {}
    query: str
    message: Message
    why: str
    fix: str
    fix_here: Message = ""
    fix_by: list[str] = []
    untried: str | None = None
    example: ExampleOrPair | None = None
    per_frontend: dict[Key, Texts] = {}
    false_positives: str
    references: list[str] = []
    cases: list[Case] = []
    _file: Path | None = PrivateAttr(default=None)
    _worded: dict[str, str] = PrivateAttr(default={})  # as the file has them

    @property
    def foreign(self) -> bool:
        """Whether it is a third-party rule, so that nothing in it is trusted."""
        return self._file is not None

    @property
    def file(self) -> Path | None:
        """The file of a third-party rule."""
        return self._file

    @property
    def code(self) -> Example | None:
        """Its example, if it has one for all frontends that it applies to."""
        return of_pair(self.example) if isinstance(self.example, str) else self.example

    @property
    def owner(self) -> str:
        """Where it comes from: xladoctor, or a file."""
        return str(from_here(self._file)) if self._file else "xladoctor"

    def of(self, file: Path) -> Rule:
        """The rule, marked as a third-party rule from this file."""
        self._file = file
        return self

    @field_validator("needs")
    @classmethod
    def _known_tables(cls, value: list[str]) -> list[str]:
        if unknown := [name for need in value for name in need.split("|") if name not in TABLES]:
            raise ValueError(
                f"no such table: {', '.join(unknown)} (`xladoctor query --schema` lists them)"
            )
        return value

    @field_validator("needs_rows", "clear_needs_rows")
    @classmethod
    def _known_sources(cls, value: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(set(value) - set(TABLES) - set(views())):
            raise ValueError(f"no such table or view: {', '.join(unknown)}")
        return value

    @field_validator("query")
    @classmethod
    def _one_select(cls, value: str, info: ValidationInfo) -> str:
        if info.context != FOREIGN:
            return value
        import duckdb

        try:
            statements = duckdb.extract_statements(value)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise ValueError("must be one SELECT (or WITH … SELECT)")
            others = not_of_the_evidence(value)
        except duckdb.Error as error:
            at = re.search(r"^LINE (\d+): ", str(error), re.MULTILINE)
            where = f" (line {at[1]} of the query)" if at else ""
            raise ValueError(f"not SQL: {str(error).splitlines()[0]}{where}") from error
        if others:
            raise ValueError(
                "may name only tables, views and macros of the evidence, not"
                f" {', '.join(others)} (`xladoctor query --schema` lists them)"
            )
        return value

    @model_validator(mode="wrap")
    @classmethod
    def _in_default_words(cls, given: Any, build: Callable[[Any], Rule]) -> Rule:
        """Texts say ``{{ words.tensor }}`` for what frameworks call by different names."""
        if not isinstance(given, dict):
            return build(given)
        texts = {
            key: text for key, text in given.items() if isinstance(text, str) and _WORDS in text
        }
        rule = build({**given, **{key: in_words(text, DEFAULT) for key, text in texts.items()}})
        rule._worded = texts
        return rule

    @model_validator(mode="after")
    def _consistent(self) -> Rule:
        if missing := sorted(set(self.needs) - set(self.not_evaluated)):
            raise ValueError(f"not_evaluated has no sentence for: {', '.join(missing)}")
        if not (self.example or any(texts.example for texts in self.per_frontend.values())):
            raise ValueError("has no example, neither for all frameworks nor for one of them")
        for name, texts in self.per_frontend.items():
            for key in _SENTENCES:
                if unknown := sorted(set(getattr(texts, key)) - set(getattr(self, key))):
                    raise ValueError(
                        f"per_frontend.{name}.{key} has keys that {key} lacks: {', '.join(unknown)}"
                    )
        given = {*self.thresholds, *(key for key in ("causes", "reads") if getattr(self, key))}
        if unknown := sorted(self._parameters - given):
            raise ValueError(f"the query has ${', $'.join(unknown)}, not among its thresholds")
        if unused := sorted(set(self.thresholds) - self._parameters):
            raise ValueError(f"the query does not use the thresholds {', '.join(unused)}")
        return self

    def for_frontend(self, name: str) -> Rule | None:
        """The rule with the texts of this frontend alone; None if it does not apply to it."""
        if name not in self.applies_to.frontends:
            return None
        words = vocabulary(name)
        closest = name if name in self.per_frontend else words.texts_like
        texts = [
            self.per_frontend[key]
            for key in (*sorted(words.all_traits), closest)
            if key in self.per_frontend
        ]
        own: dict[str, Any] = {k: in_words(text, name) for k, text in self._worded.items()}
        own |= {key: text for each in texts for key, text in each if text}
        for key in _SENTENCES:  # by table: the others keep theirs
            own[key] = {**getattr(self, key), **own.get(key, {})}
        rule = self.model_copy(update={**own, "per_frontend": {}})
        rule._worded = {}
        return rule

    def at_its_most(self) -> Rule:
        """The rule with its default severity: in preview, its findings are information."""
        return self.model_copy(update={"severity": "info"}) if self.status == "preview" else self

    @property
    def _parameters(self) -> set[str]:
        return set(re.findall(r"\$(\w+)", self.query))

    def parameters(self, thresholds: Mapping[str, float]) -> dict[str, Any]:
        """The query's parameters; ``thresholds`` replace the rule's own."""
        given = {"causes": self.causes, "reads": self.reads, **self.thresholds, **thresholds}
        return {name: given[name] for name in self._parameters}
