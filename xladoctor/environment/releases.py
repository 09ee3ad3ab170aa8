"""The releases of frameworks that xladoctor was tried with, as ``make test-releases`` recorded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class VerifiedRelease:
    """A release that programs were run with, and their traces and logs read.

    Attributes:
        framework: the module that programs import.
        version: the framework's version.
        python: the version of Python.
        read: the evidence that gave findings: run, trace, log.
    """

    framework: str
    version: str
    python: str
    read: list[str]


def tried() -> list[VerifiedRelease]:
    """All tried releases, the oldest of each framework first."""
    text = resources.files(__package__).joinpath("releases.json").read_text(encoding="utf-8")
    return [VerifiedRelease(**row) for row in json.loads(text)]


def tried_with(framework: str) -> str:
    """The releases of a framework in a few words: ``tried with 2.9.0 and 2.13.0``."""
    versions = dict.fromkeys(
        row.version.partition("+")[0] for row in tried() if row.framework == framework
    )
    return f"tried with {' and '.join(versions)}"
