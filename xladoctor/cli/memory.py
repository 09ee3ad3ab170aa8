"""``xladoctor memory``: what a program holds in the device's memory, by line."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from xladoctor.cli.groups import grouped, option
from xladoctor.cli.output import (
    ColorOption,
    EvidenceArgument,
    PlainFormat,
    PlainOption,
    SessionOption,
    load_evidence,
)
from xladoctor.errors import XladoctorError
from xladoctor.report.output import Color, say, show


@grouped
def memory(
    *,
    path: Annotated[str, EvidenceArgument],
    layout: PlainOption = PlainFormat.terminal,
    limit: int = option("How many lines to show; 0 for all.", default=20, min=0, metavar="N"),
    session: SessionOption = None,
    color: ColorOption = Color.auto,
) -> None:
    """Show what takes the device's memory, by line.

    At the peak of the largest compiled program: its arguments, what it keeps for the backward
    pass, temporary values and results, with the lines that make them; then what grows from step
    to step, and what holds it. Exit status: 0 shown, 2 the
    run cannot be read or has no record of it.
    """
    from xladoctor.diagnosis.memory import memory as held
    from xladoctor.report import memory as report

    evidence = load_evidence(path, session)
    for note in evidence.notes:
        say(f"note: {note}")
    found = held(evidence)
    if found is None:
        raise XladoctorError(
            f"{evidence.path}: no compiled program that says what it has in memory",
            "those that XLA compiles do, if `xladoctor run` or a profiler captured them, or their"
            " graphs were compiled for a TPU (docs/memory.md)",
        )
    if layout is PlainFormat.json:
        show(partial(report.render_json, found), color)
    else:
        show(partial(report.render, found, limit), color)
