"""``xladoctor shardings``: how arrays are divided over devices, and what moves in a step."""

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
def shardings(
    *,
    path: Annotated[str, EvidenceArgument],
    layout: PlainOption = PlainFormat.terminal,
    limit: int = option(
        "How many rows of a table to show; 0 for all.", default=20, min=0, metavar="N"
    ),
    session: SessionOption = None,
    color: ColorOption = Color.auto,
) -> None:
    """Show how arrays are divided over devices, and what moves.

    Of the program that moves most in a step: its mesh, its large arguments and results, and each
    operation in which devices communicate, with its bytes, its line and why it is there. Exit
    status: 0 shown, 2 the run cannot be read or has no compiled program.
    """
    from xladoctor.diagnosis.shardings import shardings as divided
    from xladoctor.report import shardings as report

    evidence = load_evidence(path, session)
    for note in evidence.notes:
        say(f"note: {note}")
    found = divided(evidence)
    if found is None:
        raise XladoctorError(
            f"{evidence.path}: no compiled program",
            "those that XLA compiles are there if `xladoctor run` or a profiler captured them"
            " (docs/sharding.md)",
        )
    if layout is PlainFormat.json:
        show(partial(report.render_json, found), color)
    else:
        show(partial(report.render, found, limit), color)
