"""Regressions accepted by hand: one line each in a reviewed TOML file.

::

    [findings]
    3f2a9c5d11e07b42 = { reason = "logged on purpose", expires = 2027-03-01 }

    [budgets."train.py"]
    max_host_syncs_per_step = { up_to = 1.0, reason = "until #12", expires = 2027-03-01 }
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from xladoctor.configuration.interface import Budgets, Limit
from xladoctor.configuration.load import read_toml
from xladoctor.repository import matches

_MODEL = ConfigDict(extra="forbid", frozen=True)


class Accepted(BaseModel):
    """The reason, and the last day on which it holds."""

    model_config = _MODEL
    reason: str = Field(min_length=3)
    expires: date

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
    return read_toml(path, (), Acknowledged) if path.exists() else Acknowledged()
