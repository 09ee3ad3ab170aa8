"""The result of examining an installation: checks, each with a status."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

#: Version of the JSON form.
SCHEMA_VERSION = 1

#: Seconds for each step that touches the framework: importing it takes 5 to 10 s, or more.
TIMEOUT_S = 60.0

#: ``skipped``: it could not be checked, or does not matter here; ``found`` then says why.
Status = Literal["ok", "warning", "failure", "skipped"]

#: Called with what is about to be checked, in a word or two.
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Check:
    """Something that was checked.

    Attributes:
        name: what was checked; several warnings about settings share one name.
        status: the outcome.
        found: what was found, or why nothing could be.
        advice: what to do about it; empty if nothing has to be done.
    """

    name: str
    status: Status
    found: str
    advice: str = ""


def ok(name: str, result: str) -> Check:
    """A check that passed."""
    return Check(name, "ok", result)


def warning(name: str, result: str, advice: str) -> Check:
    """A check of something that works, but not as well as it should."""
    return Check(name, "warning", result, advice)


def failure(name: str, result: str, advice: str) -> Check:
    """A check that failed."""
    return Check(name, "failure", result, advice)


def skipped(name: str, reason: str) -> Check:
    """A check that was not made."""
    return Check(name, "skipped", reason)


@dataclass(frozen=True, slots=True)
class Examination:
    """All checks, each after the ones that it depends on."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing has failed; warnings do not count."""
        return all(check.status != "failure" for check in self.checks)
