"""What every renderer takes: the report's content, where to write, and how it should look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.gate.interface import GateOutcome
from xladoctor.report.detail import Detail


@dataclass(frozen=True, slots=True)
class Style:
    """How output should look, decided once from options, environment and terminal.

    Attributes:
        width: columns.
        color: whether to use colours.
        unicode: whether the encoding carries block characters and arrows.
        links: whether the terminal follows links.
        in_ci: whether run directories are gone once somebody reads it.
        detail: how much to show.
        verbatim: whether lines of files are shown with all their characters.
    """

    width: int = 80
    color: bool = False
    unicode: bool = True
    links: bool = False
    in_ci: bool = False
    detail: Detail = field(default_factory=Detail)
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What is to be shown.

    Attributes:
        outcome: the gate's decision, where there was one to make.
    """

    diagnosis: Diagnosis
    outcome: GateOutcome | None = None


#: Of one report, or of several: one for each program that the command ran.
Renderer = Callable[[Sequence[Report], TextIO, Style], None]
