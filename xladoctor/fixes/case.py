"""What a kind of fix is given: a finding, and the file that it is to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xladoctor.diagnosis.finding import Finding, Location
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.source import Source


@dataclass(frozen=True, slots=True)
class Case:
    """A finding in one file.

    Attributes:
        frontend: that of the program: torch_xla, jax, torch, …
        device: the kind of device that it ran on: TPU, CPU, …; empty if that is not known.
        others: findings on lines of the same file, this one included.
        barriers: facts about barriers around its line, as
            :func:`xladoctor.diagnosis.barriers.around` gives them; empty if nothing is known, or
            the framework has none.
    """

    finding: Finding
    source: Source
    frontend: str
    others: tuple[Finding, ...] = ()
    barriers: Mapping[str, Any] = field(default_factory=dict)
    device: str = ""

    @property
    def cause(self) -> dict[str, Any]:
        """The cause, as the rule's query gives it."""
        return self.finding.cause

    @property
    def line(self) -> int:
        """The line that the finding names in this file.

        Raises:
            Refused: it names none.
        """
        return self.place().line

    def place(self, *roles: str) -> Location:
        """The first location with one of these roles, by default the finding's own line.

        Raises:
            Refused: there is none in this file.
        """
        wanted = roles or ("caller", "operation", "guilty")
        for role in wanted:
            for place in self.finding.locations:
                if place.role == role and self.source.path.name == Path(place.file).name:
                    return place
        raise Refused("the finding does not name a line of this file")
