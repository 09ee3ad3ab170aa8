"""What came of running a program and its moved copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["agrees", "differs", "not comparable", "fails"]
#: What is compared: weights before the first step, batches, what the model returned, the value of
#: the loss, gradients, and by what an update changed the parameters.
Kind = Literal["weights", "inputs", "outputs", "loss", "gradients", "updates"]


@dataclass(frozen=True, slots=True)
class Side:
    """Where one of the programs runs.

    Attributes:
        name: of the framework, as texts name it.
        interpreter: Python of an environment that has it.
        environment: variables that are set where the user has not set them.
        device: the type of devices on which the program is to compute; empty if any will do.
    """

    name: str
    interpreter: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    device: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """Values of one kind in a step, of both programs.

    Attributes:
        of: the class of the module or optimizer; empty for a loss.
        count: how many arrays.
        largest: the largest relative difference, and ``name``, the array that has it.
        allowed: how much the arrays may differ.
        says: whether there is anything that could differ: numbers that are finite and not zero.
        values: of both programs, where that array differs most.
        mismatch: why arrays could not be compared, as a sentence: their numbers or sizes differ.
    """

    step: int
    kind: Kind
    of: str
    count: int
    largest: float = 0.0
    name: str = ""
    allowed: float = 0.0
    says: bool = False
    values: tuple[float, float] | None = None
    mismatch: str = ""

    @property
    def agrees(self) -> bool:
        """Whether all arrays are the same within what is allowed."""
        return not self.mismatch and self.largest <= self.allowed


@dataclass(frozen=True, slots=True)
class Judgement:
    """The values of two programs, compared.

    Attributes:
        steps: how many steps of both were compared.
        compared: in the order of the original program.
        first: the first that differs.
        reason: why the outcome is what it is, as a sentence.
        instead: what to do, as a sentence; may be empty.
        unproven: what was not compared, as phrases.
    """

    outcome: Outcome
    steps: int = 0
    compared: tuple[Compared, ...] = ()
    first: Compared | None = None
    reason: str = ""
    instead: str = ""
    unproven: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """A program and its moved copy, run.

    Attributes:
        source, target: names of the frameworks.
        rtol: relative tolerance.
        counts: by name, what both captured runs did; None where it is unknown.
        findings: of the moved program, as the JSON report has them, most important first.
        notes: what could not be counted, as sentences.
    """

    source: str
    target: str
    rtol: float
    judgement: Judgement
    counts: tuple[tuple[str, float | None, float | None], ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
