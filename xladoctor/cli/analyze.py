"""``xladoctor analyze``: findings from evidence that is already there."""

from __future__ import annotations

from typing import Annotated

import typer

from xladoctor.cli.configured import (
    Asked,
    ConfigOption,
    IgnoreOption,
    RulesOption,
    SelectOption,
    configured,
)
from xladoctor.cli.output import (
    AddIgnoresOption,
    ColorOption,
    FormatOption,
    ShowIgnoredOption,
    TopOption,
    TotalStepsOption,
    VerboseOption,
    add_ignores,
    draws,
    parse_outputs,
)
from xladoctor.report.detail import Detail
from xladoctor.report.output import Color, deliver


def analyze(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH…",
            help="A run: its directory, last, last~1 (the one before it) or its script's name; or"
            " what other tools recorded of one program: an XProf log"
            " directory, .xplane.pb files, texts with metrics reports or analysis logs, or a"
            " directory with any of these. - reads text from standard input.",
        ),
    ],
    session: Annotated[
        str | None,
        typer.Option(help="Which timeline to read, if there are several.", show_default=False),
    ] = None,
    total_steps: TotalStepsOption = None,
    config: ConfigOption = None,
    rules: RulesOption = [],  # noqa: B006
    select: SelectOption = [],  # noqa: B006
    ignore: IgnoreOption = [],  # noqa: B006
    show_ignored: ShowIgnoredOption = False,
    verbose: VerboseOption = False,
    top: TopOption = None,
    adds_ignores: AddIgnoresOption = False,
    formats: FormatOption = [],  # noqa: B006  # typer reads it
    color: ColorOption = Color.auto,
) -> None:
    """Print ranked findings from a run directory or from what other tools captured.

    Needs neither torch nor JAX. Exit status: 0 analyzed, 2 the input cannot be read.
    """
    from xladoctor import doctor
    from xladoctor.cli.progress_bar import progress_bar
    from xladoctor.report.interface import Report

    outputs = parse_outputs(formats, detail=Detail(show_ignored, verbose, top))
    chosen = doctor.selection(configured(Asked(config, select, ignore, rules=rules)))
    with progress_bar() as bar:
        diagnosis = doctor.examine(
            paths, chosen, total_steps, session=session, progress=bar, pictures=draws(outputs)
        )
    deliver([Report(diagnosis)], outputs, color)
    if adds_ignores:
        add_ignores([diagnosis])
