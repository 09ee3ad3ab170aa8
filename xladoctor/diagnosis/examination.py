"""An examination: a diagnosis, and the evidence that it is of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xladoctor.diagnosis.interface import Diagnosis

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence  # which loads the database


@dataclass(frozen=True, slots=True)
class Extras:
    """What formats show besides the diagnosis.

    Attributes:
        pictures: whether one draws.
        patches: whether one shows the patches for findings.
    """

    pictures: bool = False
    patches: bool = False


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found in a path.

    Attributes:
        diagnosis: what the rules make of it.
        load: returns the evidence, each time the same; it is read at the first call, if judging it
            was not needed.
    """

    diagnosis: Diagnosis
    load: Callable[[], Evidence]

    @property
    def evidence(self) -> Evidence:
        """The evidence. Raises IngestError if it has to be read and is no longer there."""
        return self.load()
