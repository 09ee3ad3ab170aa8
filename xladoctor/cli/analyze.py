"""``xladoctor analyze``: findings from evidence that is already there."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from xladoctor.cli.output import Color, ColorOption, Format, FormatOption, TotalStepsOption, show


def analyze(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A run directory, an XProf log directory, an .xplane.pb file, or a text file"
            " with a metrics report or an analysis log;"
            " - reads the text from standard input.",
        ),
    ],
    session: Annotated[
        str | None,
        typer.Option(help="Which of several captured timelines to read.", show_default=False),
    ] = None,
    total_steps: TotalStepsOption = None,
    output_format: FormatOption = Format.terminal,
    color: ColorOption = Color.auto,
) -> None:
    """Print ranked findings from a run directory, a metrics report or an analysis log.

    Needs no torch. Exit status: 0 analyzed, 2 the input cannot be read.
    """
    from xladoctor.cli.progress_bar import progress_bar
    from xladoctor.diagnosis.engine import diagnose
    from xladoctor.diagnosis.rule import load_rules
    from xladoctor.evidence.load import load

    with progress_bar() as bar:
        evidence = load(path, session, bar)
    show(diagnose(evidence, load_rules(), total_steps), output_format, color, sys.stdout)
