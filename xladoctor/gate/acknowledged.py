"""Regressions accepted by hand: one line each in a reviewed TOML file.

::

    [findings]
    3f2a9c5d11e07b42 = { reason = "logged on purpose", expires = 2027-03-01 }

    [budgets."train.py"]
    max_host_syncs_per_step = { up_to = 1.0, reason = "until #12", expires = 2027-03-01 }
"""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, field_validator

from xladoctor.configuration.interface import Budgets, ConfigurationError, Limit
from xladoctor.configuration.load import read_toml
from xladoctor.regular_files import SETTINGS, read_text
from xladoctor.repository import matches

_MODEL = ConfigDict(extra="forbid", frozen=True)
_EXPIRES = re.compile(r"\bexpires\s*=\s*([\w-]+)")


class Accepted(BaseModel):
    """The reason, and the last day on which it holds."""

    model_config = _MODEL
    reason: str
    expires: date

    @field_validator("reason")
    @classmethod
    def _says_why(cls, value: str) -> str:
        if len(value) < 3:
            raise ValueError("say why, in a few words")
        return value

    def expired(self, today: date) -> bool:
        """Whether it no longer holds."""
        return today > self.expires


class AcceptedOverrun(Accepted):
    """An accepted overrun of a budget, up to a value."""

    up_to: Limit


class Acknowledged(BaseModel):
    """The file: findings by fingerprint, budgets by script (or glob) and name."""

    model_config = _MODEL
    findings: dict[str, Accepted] = {}
    budgets: dict[str, dict[str, AcceptedOverrun]] = {}

    @field_validator("budgets")
    @classmethod
    def _known_budgets(cls, value: dict[str, dict[str, AcceptedOverrun]]) -> object:
        unknown = sorted(
            {name for names in value.values() for name in names} - set(Budgets.model_fields)
        )
        if unknown:
            raise ValueError(
                f"no such budget: {', '.join(unknown)}; expected one of"
                f" {', '.join(Budgets.model_fields)}"
            )
        return value

    def overrun(self, script: str, budget: str) -> AcceptedOverrun | None:
        """The accepted overrun of a program's budget, if any."""
        fitting = [
            names[budget]
            for glob, names in self.budgets.items()
            if matches(glob, script) and budget in names
        ]
        return fitting[-1] if fitting else None


def read(path: Path) -> Acknowledged:
    """Read the file; empty if there is none. Raises ConfigurationError with file and line."""
    if not path.exists():
        return Acknowledged()
    try:
        return read_toml(path, (), Acknowledged)
    except ConfigurationError as error:
        if isinstance(error.__cause__, tomllib.TOMLDecodeError) and (said := _undated(path)):
            raise ConfigurationError(said) from error
        raise


def _undated(path: Path) -> list[str]:
    """Where a date is still to be filled in, or there is no such day: TOML says neither."""
    return [
        f"{path}:{number}: expires: fill in a date, such as 2027-03-01, instead of {match[1]}"
        for number, row in enumerate(read_text(path, SETTINGS).splitlines(), 1)
        for match in _EXPIRES.finditer(row)
        if not _is_date(match[1])
    ]


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
