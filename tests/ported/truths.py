"""What is true of each program: read from ``truths/``, measured without xladoctor."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Defect(_Strict):
    """Something wrong in a program.

    Attributes:
        rules: the rules that are right to report it.
        lines: the guilty line, or each of those that are right to name: a part of its code that is
            in no other line of the program.
    """

    rules: list[str] = Field(min_length=1)
    lines: list[str] = Field(min_length=1)
    what: str


class Times(_Strict):
    """A figure of the program, and of its fixed twin; None for what needs no fix."""

    before: float
    after: float | None = None


class Truth(_Strict):
    """What is true of a program.

    Attributes:
        wrong: its defects, the most expensive first; empty if there is nothing to fix.
        fix: what the fixed twin does.
        must_not_say: rules that must not fire above info, and phrases that must not occur.
        seconds: of the processor, from the end of importing torch_xla to that of the device's work.
    """

    wrong: list[Defect]
    fix: str = ""
    must_not_say: list[str] = []
    seconds: Times
    compilations: Times
    executions: Times

    @property
    def saving(self) -> float:
        """The share of the program's time that the fix saves."""
        assert self.seconds.after is not None
        return 1 - self.seconds.after / self.seconds.before


def names() -> list[str]:
    """The programs, without their fixed twins."""
    return sorted(p.stem for p in PROGRAMS.glob("*.py") if not p.stem.endswith("_fixed"))


def truth_of(name: str) -> Truth:
    """The truth of a program.

    Raises:
        pydantic.ValidationError: its file is not in this form.
    """
    text = (HERE / "truths" / f"{name}.yaml").read_text(encoding="utf-8")
    return Truth.model_validate(yaml.safe_load(text))


def lines_of(name: str, defect: Defect) -> dict[int, str]:
    """The right lines of a defect: number and fragment."""
    code = (PROGRAMS / f"{name}.py").read_text(encoding="utf-8").splitlines()
    lines = {}
    for fragment in defect.lines:
        numbers = [number for number, line in enumerate(code, 1) if fragment in line]
        if len(numbers) != 1:
            raise ValueError(f"{name}: {len(numbers)} lines with {fragment!r}")
        lines[numbers[0]] = fragment
    return lines
