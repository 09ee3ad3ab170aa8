"""Options that several commands share: format, colour, width."""

from __future__ import annotations

import io
import os
import shutil
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

if TYPE_CHECKING:
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.report.interface import Style


class Format(StrEnum):
    """Output formats."""

    terminal = "terminal"
    json = "json"


class Color(StrEnum):
    """When to use colours."""

    auto = "auto"
    always = "always"
    never = "never"


FormatOption = Annotated[
    Format, typer.Option("--format", help="Format of the report.", envvar="XLADOCTOR_FORMAT")
]
ColorOption = Annotated[
    Color,
    typer.Option("--color", help="Colours: the option, then NO_COLOR, then FORCE_COLOR decide."),
]


def style_for(stream: TextIO, color: Color) -> Style:
    """How output to ``stream`` should look."""
    from xladoctor.report.interface import Style

    terminal = stream.isatty()
    width = (
        shutil.get_terminal_size((80, 24)).columns if terminal or "COLUMNS" in os.environ else 80
    )
    return Style(width=max(width, 20), color=_colored(color, terminal), unicode=_carries(stream))


def _colored(color: Color, terminal: bool) -> bool:
    if color is not Color.auto:
        return color is Color.always
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _carries(stream: TextIO) -> bool:
    try:
        "█▓▒░▞·│×µ…".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


TotalStepsOption = Annotated[
    int | None,
    typer.Option(
        "--total-steps", min=1, show_default=False,
        help="Say what each fix saves in a run of so many steps.",
    ),
]  # fmt: skip


def show(diagnosis: Diagnosis, output_format: Format, color: Color, stream: TextIO) -> None:
    """Render the diagnosis in the format that was asked for."""
    from xladoctor.report import json, terminal
    from xladoctor.report.interface import Renderer

    renderers: dict[Format, Renderer] = {
        Format.terminal: terminal.render,
        Format.json: json.render,
    }
    text = io.StringIO()
    renderers[output_format](diagnosis, text, style_for(sys.stdout, color))
    emit(text.getvalue(), stream)


def emit(text: str, stream: TextIO | None = None) -> None:
    """Write to standard output (or ``stream``); where nobody reads any more, that is no fault."""
    stream = stream or sys.stdout
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
