"""Options that several commands share: format, colour, width."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from xladoctor.errors import XladoctorError

if TYPE_CHECKING:
    from xladoctor.report.interface import Renderer, Report, Style


class Format(StrEnum):
    """Output formats."""

    terminal = "terminal"
    json = "json"
    markdown = "markdown"
    github_summary = "github-summary"
    github = "github"
    gitlab = "gitlab"
    sarif = "sarif"
    junit = "junit"


class PlainFormat(StrEnum):
    """Formats of output that is not a report on a run."""

    terminal = "terminal"
    json = "json"


@dataclass(frozen=True, slots=True)
class Output:
    """A format, and the file that it goes to; None for standard output."""

    format: Format
    path: Path | None = None


class OutputError(XladoctorError):
    """A file that cannot be written."""


class Color(StrEnum):
    """When to use colours."""

    auto = "auto"
    always = "always"
    never = "never"


FormatOption = Annotated[
    list[str],
    typer.Option(
        "--format", envvar="XLADOCTOR_FORMAT", metavar="FORMAT[=FILE]", show_default="terminal",
        help="Report format, and the file to write it to (default: standard output). May be"
        f" repeated. Formats: {', '.join(Format)}.",
    ),
]  # fmt: skip
PlainOption = Annotated[PlainFormat, typer.Option("--format", help="Output format.")]
ColorOption = Annotated[
    Color,
    typer.Option("--color", help="When to use colours; overrides NO_COLOR and FORCE_COLOR."),
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
        help="Say what each fix saves in a run of N steps.",
    ),
]  # fmt: skip


def parse_outputs(words: Sequence[str], known: Sequence[Format] = tuple(Format)) -> list[Output]:
    """What ``--format`` asks for.

    Args:
        words: ``FORMAT`` or ``FORMAT=FILE`` each; none means the terminal's.
        known: formats that the command has.

    Raises:
        BadParameter: no such format, or two for the same place.
    """
    outputs = [_output(word, known) for word in words] or [Output(Format.terminal)]
    places = [output.path for output in outputs]
    if twice := next((place for place in places if places.count(place) > 1), False):
        raise typer.BadParameter(f"two formats for {twice}", param_hint="--format")
    if twice is None:
        raise typer.BadParameter("two formats for standard output: write one of them to a file:"
                                 " --format sarif=out.sarif", param_hint="--format")  # fmt: skip
    return outputs


def _output(word: str, known: Sequence[Format]) -> Output:
    name, equals, file = word.partition("=")
    if name not in known or (equals and not file):
        raise typer.BadParameter(f"{word}: expected FORMAT or FORMAT=FILE, where FORMAT is one of"
                                 f" {', '.join(known)}", param_hint="--format")  # fmt: skip
    return Output(Format(name), Path(file) if file else None)


def deliver(reports: Sequence[Report], outputs: Sequence[Output], color: Color) -> None:
    """Write the reports in each format.

    Raises:
        OutputError: a file cannot be written.
    """
    write_each(outputs, color, lambda name, text, style: _renderer(name)(reports, text, style))


def write_each(
    outputs: Sequence[Output], color: Color, render: Callable[[Format, TextIO, Style], None]
) -> None:
    """Write each output; files first, so that they exist if nobody reads the rest.

    Args:
        outputs: formats, and where they go.
        color: when to use colours on standard output.
        render: writes in a format.

    Raises:
        OutputError: a file cannot be written.
    """
    from xladoctor.report.interface import Style

    for output in sorted(outputs, key=lambda output: output.path is None):
        text = io.StringIO()
        if output.path is None:
            render(output.format, text, style_for(sys.stdout, color))
            emit(text.getvalue())
        else:
            render(output.format, text, Style())
            _write(output.path, text.getvalue())


def _write(path: Path, text: str) -> None:
    """Replace the file; a job's summary, to which each of its programs adds, is continued."""
    continued = str(path) == os.environ.get("GITHUB_STEP_SUMMARY")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if continued else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


def _renderer(output_format: Format) -> Renderer:
    """The module of ``xladoctor.report`` of that name."""
    name = output_format.value.replace("-", "_")
    renderer: Renderer = import_module(f"xladoctor.report.{name}").render
    return renderer


def emit(text: str, stream: TextIO | None = None) -> None:
    """Write to standard output (or ``stream``); a reader that has gone is not a fault."""
    stream = stream or sys.stdout
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # for what is left in its buffer
        raise OutputError(f"cannot write standard output: {error.strerror}") from error
