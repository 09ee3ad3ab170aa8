"""Options that several commands share, and what they ask for: formats, colour, detail."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from xladoctor import doctor, timings
from xladoctor.cli.groups import flag, option, repeated
from xladoctor.cli.progress_bar import progress_bar
from xladoctor.errors import XladoctorError
from xladoctor.report.detail import USUAL, Detail
from xladoctor.report.output import Color, Format, Output, deliver, say

if TYPE_CHECKING:
    from xladoctor.diagnosis.examination import Examination, Extras
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.evidence.interface import Evidence


#: The section of a command's help about its report.
REPORT = "Report"
_WITH_PATCHES = (
    Format.terminal,
    Format.html,
    Format.markdown,
    Format.github_summary,
    Format.json,
)


_FORMATS = ", ".join(Format)


class PlainFormat(StrEnum):
    """Formats of output that is not a report on a run."""

    terminal = "terminal"
    json = "json"


PlainOption = Annotated[PlainFormat, typer.Option("--format", help="Output format.")]
ColorOption = Annotated[
    Color, typer.Option("--color", help="When to use colours; overrides NO_COLOR and FORCE_COLOR.")
]
TotalStepsOption = Annotated[
    int | None,
    typer.Option(
        "--total-steps",
        metavar="N",
        min=1,
        rich_help_panel=REPORT,
        help="Also estimate each fix's saving for a run of N steps.",
    ),
]
AddIgnoresOption = Annotated[
    bool,
    typer.Option(
        "--add-ignores",
        rich_help_panel=REPORT,
        help="Add a comment to the source for each finding, to ignore it in future runs.",
    ),
]
EvidenceArgument = typer.Argument(
    metavar="PATH",
    help="A run, log directory, timeline or text file, or a URL of one, as for analyze. - reads"
    " text from standard input.",
)
SessionOption = Annotated[
    str | None, typer.Option(help="Which timeline to read, if there are several.")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=REPORT, help="Show no status line.")
]


@dataclass(frozen=True)
class ReportOptions:
    """How much a report shows, its formats, where each is written, and in which colours."""

    section: ClassVar[str] = REPORT

    verbose: bool = flag(
        "Show everything: all findings in full, causes, examples, rules not evaluated.",
        "--verbose",
        "-v",
    )
    top: int | None = option("Show the first N findings in full.", metavar="N", min=1)
    formats: list[str] = repeated(
        "Report format, and the file to write it to (default: standard output). May be repeated."
        f" Formats: {_FORMATS}.",
        "--format",
        envvar="XLADOCTOR_FORMAT",
        metavar="FORMAT[=FILE]",
        show_default="terminal",
    )
    color: ColorOption = Color.auto
    show_ignored: bool = flag("List the ignored findings, with their reasons.")
    timings: bool = flag("Print xladoctor's own processor time, by stage, to standard error.")

    def say_timings(self) -> None:
        """Say how long each phase took, if that was asked for; the last one is the report."""
        timings.done("report")
        if self.timings:
            say(timings.described())

    def outputs(self, known: Sequence[Format] = tuple(Format)) -> list[Output]:
        """What ``--format`` asks for, of the formats that the command has, with as much of it as
        other options say.
        """
        detail = Detail(self.show_ignored, self.verbose, self.top)
        return parse_outputs(self.formats, known, detail)

    def deliver(self, diagnosis: Diagnosis, outputs: Sequence[Output]) -> None:
        """Write the report on a diagnosis. Raises OutputError."""
        from xladoctor.report.interface import Report

        deliver([Report(diagnosis)], outputs, self.color)
        self.say_timings()


@dataclass(frozen=True)
class RunReportOptions(ReportOptions):
    """The report on a program that has just run."""

    total_steps: TotalStepsOption = None
    adds_ignores: AddIgnoresOption = False
    quiet: QuietOption = False


def load_evidence(path: str, session: str | None) -> Evidence:
    """The evidence that rules see, read with a progress bar."""
    with progress_bar() as bar:
        return doctor.load_evidence(path, session, bar)


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed at the end of the block."""
    try:
        return tempfile.TemporaryDirectory(prefix="xladoctor-")
    except OSError as error:
        raise XladoctorError(
            f"cannot write temporary files: {error.strerror}", "name a folder for them with TMPDIR"
        ) from error


def add_ignores(examinations: Sequence[Examination]) -> None:
    """Write them, and say on standard error what was written and what was not."""
    for text in doctor.add_ignores(examinations):
        say(text)


def parse_outputs(
    words: Sequence[str], known: Sequence[Format] = tuple(Format), detail: Detail = USUAL
) -> list[Output]:
    """What ``--format`` asks for.

    Args:
        words: ``FORMAT`` or ``FORMAT=FILE`` each; none means the terminal's.
        known: formats that the command has.
        detail: how much of a report is shown to people.

    Raises:
        BadParameter: no such format, or two for the same place.
    """
    outputs = [_output(word, known) for word in words] or [Output(Format.terminal)]
    places = [output.path for output in outputs]
    if twice := next((place for place in places if places.count(place) > 1), False):
        raise typer.BadParameter(f"two formats for {twice}", param_hint="--format")
    if twice is None:
        raise typer.BadParameter(
            "two formats for standard output: write one of them to a file:"
            " --format sarif=out.sarif",
            param_hint="--format",
        )
    return [replace(output, detail=detail) for output in outputs]


def draws(outputs: Sequence[Output]) -> bool:
    """Whether a format is asked for that draws pictures."""
    return any(output.format is Format.html for output in outputs)


def extras(outputs: Sequence[Output]) -> Extras:
    """What the formats show besides the diagnosis."""
    from xladoctor.diagnosis.examination import Extras

    return Extras(draws(outputs), any(output.format in _WITH_PATCHES for output in outputs))


def _output(word: str, known: Sequence[Format]) -> Output:
    name, equals, file = word.partition("=")
    if name not in known or (equals and not file):
        raise typer.BadParameter(
            f"{word}: expected FORMAT or FORMAT=FILE, where FORMAT is one of {', '.join(known)}",
            param_hint="--format",
        )
    if "://" in file:
        raise typer.BadParameter(
            f"{name}: a report is written to a file of this machine, not to a URL",
            param_hint="--format",
        )
    return Output(Format(name), Path(file) if file else None)
