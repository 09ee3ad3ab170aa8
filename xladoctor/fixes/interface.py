"""Patches as values: what a fix changes, what it relies on, or why there is none."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from xladoctor.diagnosis.finding import Finding
from xladoctor.errors import XladoctorError

Effect = Literal["safe", "changes behaviour"]


class FixError(XladoctorError):
    """There is nothing to fix, or what was asked for cannot be done."""


class Refused(Exception):  # noqa: N818 - not an error: a kind of fix does not know this form
    """A kind of fix does not apply to this code.

    Args:
        reason: why, as the end of a sentence that begins with the finding.
        instead: what to write by hand, if that is known.
    """

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.instead = instead


class Unsuited(Refused):
    """A kind of fix does not serve the framework or the finding at all, so that another kind's
    reason tells more.
    """


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text: lines from 1, columns in characters from 0."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the text from ``begin`` up to ``end``."""

    begin: Position
    end: Position
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a kind of fix makes of a piece of code.

    Attributes:
        title: what it does, as an imperative: ``Sum on the device``.
        edits: in any order; none overlap.
        behaviour: how the program behaves differently afterwards; empty if it computes the same.
        relies_on: what the fix takes for granted, as sentences.
    """

    title: str
    edits: tuple[Edit, ...]
    behaviour: str = ""
    relies_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of one file that cures a finding.

    Attributes:
        file: absolute.
        sha256: of the file's bytes that the edits are for.
    """

    finding: Finding
    kind: str
    file: Path
    sha256: str
    change: Change

    @property
    def effect(self) -> Effect:
        """Whether the program computes the same afterwards."""
        return "changes behaviour" if self.change.behaviour else "safe"

    @property
    def digest(self) -> str:
        """By which a patch that was tried is recognised: of the file, and of what is changed."""
        return sha256_of(repr((str(self.file), self.sha256, sorted(self.change.edits))).encode())


@dataclass(frozen=True, slots=True)
class Skip:
    """A finding for which there is no patch.

    Attributes:
        reason: why not.
        instead: what to do by hand, if that is known.
    """

    finding: Finding
    reason: str
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be done about the findings of a run, the most valuable first.

    Attributes:
        root: the project: no file outside of it is changed.
        held: the patches that were tried before, and hold.
    """

    root: Path
    patches: list[Patch] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    held: list[Patch] = field(default_factory=list)


def sha256_of(text: bytes) -> str:
    """The hash by which a file is recognised."""
    return hashlib.sha256(text).hexdigest()
