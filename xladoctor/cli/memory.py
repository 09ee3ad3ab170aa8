"""``xladoctor memory`` and ``xladoctor shardings``: what is on devices, and moves, by line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from xladoctor.evidence.interface import Evidence


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

    _show(
        held,
        report,
        (path, session, layout, limit, color),
        "no compiled program that says what it has in memory",
        "those that XLA compiles do, if `xladoctor run` or a profiler captured them, or their"
        " graphs were compiled for a TPU (docs/memory.md)",
    )


@grouped
def shardings(
    *,
    path: Annotated[str, EvidenceArgument],
    layout: PlainOption = PlainFormat.terminal,
    limit: int = option("How many rows to show; 0 for all.", default=20, min=0, metavar="N"),
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

    hint = "`xladoctor run` and profilers capture those of XLA (docs/sharding.md)"
    given = path, session, layout, limit, color
    _show(divided, report, given, "no compiled program", hint)


def _show(look: Callable[[Evidence], Any], report: Any, given: Any, *lacking: str) -> None:
    """Show what a run has of something, by the module that reports it, as the options ask."""
    path, session, layout, limit, color = given
    evidence = load_evidence(path, session)
    for note in evidence.notes:
        say(f"note: {note}")
    if (found := look(evidence)) is None:
        raise XladoctorError(f"{evidence.path}: {lacking[0]}", *lacking[1:])
    if layout is PlainFormat.json:
        show(partial(report.render_json, found), color)
    else:
        show(partial(report.render, found, limit), color)
