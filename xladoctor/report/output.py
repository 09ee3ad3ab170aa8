"""Where output goes, and how it looks there: files, standard output, a terminal."""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xladoctor.errors import XladoctorError
from xladoctor.foreign import clean, harmless
from xladoctor.report.detail import Detail
from xladoctor.report.links import followed
from xladoctor.whole_files import write_text

if TYPE_CHECKING:
    from xladoctor.report.interface import Renderer, Report, Style


class Format(StrEnum):
    """Output formats."""

    terminal = "terminal"
    json = "json"
    html = "html"
    markdown = "markdown"
    github_summary = "github-summary"
    github = "github"
    gitlab = "gitlab"
    sarif = "sarif"
    junit = "junit"
    badge = "badge"


@dataclass(frozen=True, slots=True)
class Output:
    """A format, and the file that it goes to; None for standard output.

    Attributes:
        detail: how much of a report to show.
        is_patch: whether standard output may go on to a program that applies it as a patch.
    """

    format: Format
    path: Path | None = None
    detail: Detail = field(default_factory=Detail)
    is_patch: bool = False


class OutputError(XladoctorError):
    """A file that cannot be written."""


class Color(StrEnum):
    """When to use colours."""

    auto = "auto"
    always = "always"
    never = "never"


def style_for(stream: TextIO, color: Color) -> Style:
    """How output to ``stream`` should look."""
    from xladoctor.report.interface import Style

    terminal = stream.isatty()
    width = (
        shutil.get_terminal_size((80, 24)).columns if terminal or "COLUMNS" in os.environ else 80
    )
    colored = _colored(color, terminal)
    links = terminal and colored and followed()
    return Style(max(width, 20), colored, _carries(stream), links, _in_ci())


def _in_ci() -> bool:
    return bool(os.environ.get("CI"))


def _is_file(stream: TextIO) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # it has no file descriptor
        return False


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


def deliver(reports: Sequence[Report], outputs: Sequence[Output], color: Color) -> None:
    """Write the reports in each format.

    Raises:
        OutputError: a file cannot be written.
    """
    write_each(outputs, color, lambda name, text, style: _renderer(name)(reports, text, style))


def write_each(
    outputs: Sequence[Output], color: Color, render: Callable[[Format, TextIO, Style], None]
) -> None:
    """Write each output; files first, so they exist even if nobody reads the rest.

    Args:
        outputs: formats, and where they go.
        color: when to use colours on standard output.
        render: writes in a format.

    Raises:
        OutputError: a file cannot be written.
    """
    from xladoctor.report.interface import Style

    for output in sorted(outputs, key=lambda output: output.path is None):
        text, commands = io.StringIO(), output.format is Format.github
        if output.path is None:
            read_in_ci = _in_ci() and not _is_file(sys.stdout)  # which a runner does not read
            verbatim = output.is_patch and not sys.stdout.isatty() and not read_in_ci
            style = replace(style_for(sys.stdout, color), detail=output.detail, verbatim=verbatim)
            render(output.format, text, style)
            emit(text.getvalue(), colored=style.color, commands=commands, verbatim=verbatim)
        else:
            render(output.format, text, Style(detail=output.detail, in_ci=_in_ci()))
            _write(output.path, harmless(text.getvalue(), commands=commands))


def show(render: Callable[[TextIO, Style], object], color: Color) -> None:
    """Write to standard output what ``render`` writes, which is no report on a run."""
    text, style = io.StringIO(), style_for(sys.stdout, color)
    render(text, style)
    emit(text.getvalue(), colored=style.color)


def _write(path: Path, text: str) -> None:
    """Replace the file; a job's summary, to which each of its programs adds, is continued."""
    continued = str(path) == os.environ.get("GITHUB_STEP_SUMMARY")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if continued:
            with path.open("a", encoding="utf-8") as file:
                file.write(text)
        else:
            write_text(path, text)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}") from error


def _renderer(output_format: Format) -> Renderer:
    """The module of ``xladoctor.report`` of that name."""
    name = output_format.value.replace("-", "_")
    renderer: Renderer = import_module(f"xladoctor.report.{name}").render
    return renderer


def say(text: str) -> None:
    """A line of ours on standard error."""
    emit(f"xladoctor: {clean(text)}\n", sys.stderr)


def emit(
    text: str,
    stream: TextIO | None = None,
    *,
    colored: bool = False,
    commands: bool = False,
    verbatim: bool = False,
) -> None:
    """Write to standard output (or ``stream``): all that xladoctor says goes through here.

    A reader that has gone is not an error.

    Args:
        colored: whether colours in it are meant; what else is not printable is escaped.
        commands: whether lines that a CI system obeys are meant; they are otherwise escaped.
        verbatim: whether all of it is meant, as UTF-8: nothing is escaped.

    Raises:
        OutputError: it cannot be written, as to a full disk.
    """
    stream = stream or sys.stdout
    if not verbatim:
        text = harmless(text, colored=colored, commands=commands)
        encoding = getattr(stream, "encoding", None) or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        if verbatim and hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(text.encode("utf-8", "surrogateescape"))
        else:
            stream.write(text)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # for what is left in its buffer
        if stream is sys.stderr:  # and nowhere to say so
            return
        raise OutputError(f"cannot write standard output: {error.strerror}") from error
