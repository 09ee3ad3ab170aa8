"""What a project can set: ``[tool.xladoctor]`` in pyproject.toml, or the same in xladoctor.toml.

The models are the documentation of the keys; ``docs/configuration.schema.json`` is made from them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from xladoctor.diagnosis.naming import ALL
from xladoctor.errors import XladoctorError
from xladoctor.quantities import SIZE, QuantityError, parse_size

Level = Literal["off", "info", "warning", "error"]
FailOn = Literal["error", "warning", "info", "never"]
_PREFIX = r"[A-Z]+\d{0,4}"


class ConfigurationError(XladoctorError):
    """A configuration file or option that cannot be used: says where, and what was expected."""


def _prefix(text: str) -> str:
    if not re.fullmatch(_PREFIX, text):
        raise ValueError(f"{text!r} is not a rule or family: expected an id, its beginning, or ALL")
    return text


def _ignored(text: str) -> str:
    name, colon, glob = text.partition(":")
    _prefix(name)
    if colon and not glob:
        raise ValueError(f"{text!r} names no files: expected RULE or RULE:GLOB")
    return text


def _size(value: object) -> object:
    """Bytes: a whole number, or a text such as ``800 MB`` (of 1000) or ``2GiB`` (of 1024)."""
    if not isinstance(value, str):
        return value
    try:
        return parse_size(value, zero=True)
    except QuantityError as error:
        raise ValueError(f"{error.what}: {error.hint} or a number of bytes") from error


def _number(value: object) -> object:
    if isinstance(value, bool):  # which Python takes for 0 and 1
        raise ValueError("expected a number")  # noqa: TRY004  # pydantic reports these alone
    return value


def _share(value: object) -> object:
    """A share from 0 to 1, or a text such as ``90%``."""
    if isinstance(value, str) and value.endswith("%"):
        try:
            return float(value[:-1]) / 100
        except ValueError:
            raise ValueError("expected a share from 0 to 1, or a percentage") from None
    return _number(value)


def _level(value: object) -> object:
    """``warn`` is read as ``warning``, which is the word of severities too."""
    return "warning" if value == "warn" else value


Prefix = Annotated[
    str, AfterValidator(_prefix), WithJsonSchema({"type": "string", "pattern": f"^{_PREFIX}$"})
]
#: A rule or family; after a colon a glob of the files in which alone it is ignored.
Ignored = Annotated[
    str,
    AfterValidator(_ignored),
    WithJsonSchema({"type": "string", "pattern": f"^{_PREFIX}(:.+)?$"}),
]
Folder = Annotated[str, Field(min_length=1)]
Limit = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_number)]
Size = Annotated[
    Limit,
    BeforeValidator(_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": f"^{SIZE}$"},
            ]
        }
    ),
]
Share = Annotated[
    float,
    Field(ge=0, le=1),
    BeforeValidator(_share),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^\d{1,3}(\.\d+)?%$"},
            ]
        }
    ),
]
Finite = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_number)]
_MODEL = ConfigDict(extra="forbid", frozen=True)


class Budgets(BaseModel):
    """Limits on what a run does; see ``docs/gate.md`` for how each is counted."""

    model_config = _MODEL
    max_compilations_after_warmup: Limit | None = Field(
        default=None, description="Compilations after the first three launches of their call site."
    )
    max_compilations_second_start: Limit | None = Field(
        default=None,
        description="Graphs that a second start compiles although the first filled a cache on disk:"
        " the gate runs the program once more, before the run that it judges.",
    )
    max_host_syncs_per_step: Limit | None = Field(
        default=None, description="Reads of device values, per step."
    )
    max_fallbacks_per_step: Limit | None = Field(
        default=None, description="Operators without a lowering, run on the CPU, per step."
    )
    max_barriers_per_step: Limit | None = Field(
        default=None, description="Barriers in an iteration of the loop."
    )
    max_step_ms: Limit | None = Field(
        default=None,
        description="Median step after warm-up, in milliseconds. Depends on the machine.",
    )
    max_peak_memory: Size | None = Field(
        default=None, description="Memory that the largest graph needs: bytes, or 800MB, 2GiB."
    )
    max_live_growth_per_step: Size | None = Field(
        default=None,
        description="Memory that arrays held by the program grow by: bytes a step, or 4kB.",
    )
    max_resharded_bytes_per_step: Size | None = Field(
        default=None, description="What a device receives for resharding: bytes a step, or 64MB."
    )
    max_replicated_share: Share | None = Field(
        default=None, description="Share of large arguments that each device has whole, 0 to 1."
    )
    max_sharding_changes: Limit | None = Field(
        default=None, description="Collectives and arguments that differ from the baseline's."
    )
    max_hbm_share: Share | None = Field(
        default=None,
        description="Peak as a share of a TPU's memory, 0 to 1 (needs --tpu-check).",
    )
    max_padding_share: Share | None = Field(
        default=None,
        description="Padding's share of what a graph writes on a TPU, 0 to 1 (needs --tpu-check).",
    )
    must_fit: bool | None = Field(
        default=None,
        description="Whether each graph must fit into a TPU's memory (needs --tpu-check).",
    )

    def given(self) -> dict[str, float]:
        """The limits that are set, by name."""
        return {
            name: 0.0 if value is True else value
            for name in Budgets.model_fields
            if (value := getattr(self, name)) is not None and value is not False
        }


class Gate(BaseModel):
    """``[tool.xladoctor.gate]``."""

    model_config = _MODEL
    fail_on: FailOn = Field(
        default="warning", description="Lowest severity at which a finding without a level fails."
    )
    allow_missing: bool = Field(
        default=False,
        description="Whether to pass when something could not be judged (exit status 0, not 3).",
    )
    time: bool = Field(
        default=False, description="Whether to also judge the rules that depend on time."
    )
    baseline: str = Field(
        default=".xladoctor/baseline.json",
        description="File of known findings, relative to this file.",
    )
    acknowledged: str = Field(
        default=".xladoctor/acknowledged.toml",
        description="File of acknowledgements, relative to this file.",
    )
    budgets: Budgets = Field(default=Budgets(), description="Limits for every script.")
    scripts: dict[str, Budgets] = Field(
        default_factory=dict,
        description="Limits for scripts by path or glob; the last match that sets a budget wins.",
    )


class Configuration(BaseModel):
    """``[tool.xladoctor]``."""

    model_config = _MODEL
    rules: list[Folder] = Field(
        default=[], description="Folders of more rules, relative to this file."
    )
    select: list[Prefix] = Field(
        default=[ALL],
        description="Rules or families to judge; ALL means all. Findings of a preview"
        " rule are info, unless its full id is here.",
    )
    ignore: list[Ignored] = Field(
        default=[],
        description="Rules or families not to judge; RULE:GLOB only leaves out their"
        " findings in matching files.",
    )
    levels: dict[Prefix, Annotated[Level, BeforeValidator(_level)]] = Field(
        default_factory=dict,
        description="off: not judged; info or warning: findings have at most this severity, and"
        " none fails the gate; error: any finding is an error and fails the gate. The longest"
        " matching name wins.",
    )
    thresholds: dict[str, dict[str, Finite]] = Field(
        default_factory=dict,
        description="Thresholds of rules, by id; each rule's page lists its own.",
    )
    gate: Gate = Gate()


class Configured(BaseModel):
    """A configuration, and where it comes from.

    Attributes:
        folder: what its paths are relative to.
        source: the file, or None where there is none.
        options: what options of the command line changed: rules or families, by the setting.
    """

    model_config = _MODEL
    settings: Configuration = Configuration()
    folder: Path
    source: Path | None = None
    options: dict[str, list[str]] = Field(default_factory=dict)
