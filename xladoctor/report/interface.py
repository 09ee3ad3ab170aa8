"""What every renderer takes: the diagnosis, where to write, and how it should look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from xladoctor.diagnosis.interface import Diagnosis


@dataclass(frozen=True, slots=True)
class Style:
    """How output should look, decided once from options, environment and terminal.

    Attributes:
        width: columns.
        color: whether to use colours.
        unicode: whether the encoding carries block characters and arrows.
    """

    width: int = 80
    color: bool = False
    unicode: bool = True


Renderer = Callable[[Diagnosis, TextIO, Style], None]
