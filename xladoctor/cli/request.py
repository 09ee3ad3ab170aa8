"""From the words of a command line to what is to be run under capture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from xladoctor.cli.destination import RunOutputOption
from xladoctor.cli.groups import option
from xladoctor.quantities import parse_duration, whole_number

if TYPE_CHECKING:
    from xladoctor.recording.bootstrap._xladoctor.options import Options
    from xladoctor.recording.interface import RunRequest


def after_dashes(arguments: Sequence[str]) -> bool:
    """Whether the arguments are what follows ``--``: a command of its own."""
    words = sys.argv[1:]
    return "--" in words and words[words.index("--") + 1 :] == list(arguments)


@dataclass(frozen=True)
class ProgramOptions:
    """How a program is run, and when it is ended."""

    stop_after: str | None = option(
        "End the program after N steps, or at the first step after a time (90s, 2m).",
        metavar="N|TIME",
    )
    output: RunOutputOption = None
    timeout: str | None = option(
        "Treat the program as hung after this long (90s, 30m, 2h): save the stacks of its"
        " threads, then end it.",
        metavar="TIME",
    )

    def request(
        self,
        arguments: Sequence[str],
        folder: Path | None,
        options: Options,
        *,
        module: bool = False,
        own_command: bool = False,
    ) -> RunRequest:
        """The program to run, into that run directory.

        Args:
            arguments: a script or module and its arguments, or a command.
            options: all but when the program is to stop.
            own_command: whether it is run as it is, not by this interpreter.
        """
        from xladoctor.recording.interface import RunRequest

        if not arguments:
            raise typer.BadParameter("name a script, -m MODULE, or -- COMMAND", param_hint="SCRIPT")
        stop, timeout = self.stop_after, self.timeout
        steps = whole_number(stop) if stop else 0
        if stop is not None and steps is not None and steps < 1:
            raise typer.BadParameter("expected at least 1", param_hint="--stop-after")
        prefix = [] if own_command else [sys.executable, *(["-m"] if module else [])]
        return RunRequest(
            command=(*prefix, *arguments),
            script=arguments[0],
            output=folder,
            needs_framework=not own_command,
            options=replace(options, stop_after=steps or 0),
            timeout_s=None if timeout is None else parse_duration(timeout),
            stop_after_s=parse_duration(stop) if stop and steps is None else None,
        )
