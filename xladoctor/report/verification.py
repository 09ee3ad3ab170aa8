"""What came of running a program and its moved copy: as text, or as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from xladoctor.foreign import clean
from xladoctor.move.proof.interface import Compared, Judgement, Verification
from xladoctor.quantities import counted
from xladoctor.report.interface import Style
from xladoctor.report.text import FOLDED, NUMBERS, grid, inset, plain, styled
from xladoctor.report.words import sentence

_COLORS = {"agrees": "green", "differs": "red", "not comparable": "yellow", "fails": "red"}
_COLUMNS = ("weights", "inputs", "outputs", "loss", "gradients", "updates")
_COUNTS = {
    "compilations": "compilations",
    "compilations_after_warmup": "compilations after warm-up",
    "launches": "launches a step",
    "host_syncs_per_step": "host reads a step",
    "fallbacks_per_step": "operators on the CPU a step",
    "step_ms": "ms a step, on this CPU",
}
_MOST_FINDINGS = 5


def headline(found: Verification) -> str:
    """The verdict in a sentence without the full stop."""
    judgement = found.judgement
    steps = counted(judgement.steps, "step")
    return {
        "agrees": f"the first {steps} agree within {found.rtol:.1%}",
        "differs": f"differs: {judgement.reason}",
        "not comparable": f"not comparable: {judgement.reason}",
        "fails": f"fails: {judgement.reason}",
    }[judgement.outcome]


def parts(found: Verification, style: Style) -> Iterator[RenderableType]:
    """The text; the first part has the verdict."""
    judgement = found.judgement
    yield Text(
        plain(headline(found), style, lines=True), style=f"bold {_COLORS[judgement.outcome]}"
    )
    if judgement.instead:
        yield inset(Text(sentence(judgement.instead)))
    if judgement.compared:
        yield Text("\nLargest relative difference")
        yield _differences(judgement)
    for note in judgement.unproven:
        yield inset(styled(f"unproven: {note}", style))
    if found.counts:
        yield Text()
        yield _counts(found)
    for note in found.notes:
        yield inset(styled(note, style))
    if found.findings:
        yield Text(f"\nFindings in the moved program: {len(found.findings)}")
    for finding in found.findings[:_MOST_FINDINGS]:
        at = "".join(f"{place['file']}:{place['line']}  " for place in finding["locations"][:1])
        yield inset(styled(f"{finding['rule']}  {at}{finding['title']}", style, "bold"))
        yield inset(styled(" ".join(finding["fix"].split()), style), 4)


def _differences(judgement: Judgement) -> Table:
    """A row for each step; kinds that no step has are left out."""
    every = judgement.compared
    names = [name for name in _COLUMNS if any(each.kind == name for each in every)]
    rows: list[list[RenderableType]] = [["  step", *names]]
    for step in range(1, max(each.step for each in every) + 1):
        cells = ([each for each in every if (each.step, each.kind) == (step, n)] for n in names)
        rows.append([f"  {step}", *map(_cell, cells)])
    return grid(rows, FOLDED, *[NUMBERS] * len(names))


def _cell(compared: Sequence[Compared]) -> Text:
    worst = max(compared, key=lambda each: (not each.agrees, each.largest), default=None)
    if worst is None or not (worst.count or worst.mismatch):
        return Text()
    number = "sizes" if worst.mismatch else f"{worst.largest:.1e}"
    return Text(number, style="" if worst.agrees else "bold red")


def _counts(found: Verification) -> Table:
    rows: list[list[RenderableType]] = [["Counts", found.source, found.target]]
    for name, *values in found.counts:
        row = ("unknown" if value is None else f"{value:.3g}" for value in values)
        rows.append([f"  {_COUNTS[name]}", *row])
    return grid(rows, FOLDED, NUMBERS, NUMBERS)


def record(found: Verification) -> Any:
    """The JSON form; None stands for what is unknown, or not finite."""
    return _finite(asdict(found))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return clean(value, lines=True) if isinstance(value, str) else value
