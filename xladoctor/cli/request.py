"""From the words of a command line to what is to be run under capture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.quantities import parse_duration, whole_number

if TYPE_CHECKING:
    from xladoctor.recording.bootstrap._xladoctor.options import Options
    from xladoctor.recording.interface import RunRequest


StopAfterOption = Annotated[
    str | None,
    typer.Option(
        metavar="N|TIME",
        show_default=False,
        help="End the program after N steps, or at the first step after a time (90s, 2m).",
    ),
]
TimeoutOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        show_default=False,
        help="Treat the program as hung after this long (90s, 30m, 2h): save the stacks of its"
        " threads, then end it.",
    ),
]


def after_dashes(arguments: Sequence[str]) -> bool:
    """Whether the arguments are what follows ``--``: a command of its own."""
    words = sys.argv[1:]
    return "--" in words and words[words.index("--") + 1 :] == list(arguments)


def request_for(
    arguments: Sequence[str],
    output: Path | None,
    options: Options,
    timeout: str | None,
    stop_after: str | None,
    *,
    module: bool = False,
    own_command: bool = False,
) -> RunRequest:
    """The program to run.

    Args:
        arguments: a script or module and its arguments, or a command.
        options: all but when the program is to stop.
        timeout: as ``30m``.
        stop_after: a number of steps, or a time as ``2m``.
        own_command: whether it is run as it is, not by this interpreter.
    """
    from xladoctor.recording.interface import RunRequest

    if not arguments:
        raise typer.BadParameter("name a script, -m MODULE, or -- COMMAND", param_hint="SCRIPT")
    steps = whole_number(stop_after) if stop_after else 0
    if stop_after is not None and steps is not None and steps < 1:
        raise typer.BadParameter("expected at least 1", param_hint="--stop-after")
    prefix = [] if own_command else [sys.executable, *(["-m"] if module else [])]
    return RunRequest(
        command=(*prefix, *arguments),
        script=arguments[0],
        output=output,
        needs_framework=not own_command,
        options=replace(options, stop_after=steps or 0),
        timeout_s=None if timeout is None else parse_duration(timeout),
        stop_after_s=parse_duration(stop_after) if stop_after and steps is None else None,
    )
