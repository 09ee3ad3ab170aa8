"""``xladoctor report``: a page about evidence that is already there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xladoctor.cli.analyze import analyze
from xladoctor.cli.configured import ConfigOption, IgnoreOption, RulesOption, SelectOption
from xladoctor.cli.output import ShowIgnoredOption, TotalStepsOption


def report(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="RUN…", help="A run, or what else `analyze` reads."),
    ],
    html: Annotated[
        Path, typer.Option("--html", metavar="FILE", help="The page to write: one HTML file.")
    ],
    session: Annotated[
        str | None,
        typer.Option(help="Which timeline to read, if there are several.", show_default=False),
    ] = None,
    total_steps: TotalStepsOption = None,
    config: ConfigOption = None,
    rules: RulesOption = [],  # noqa: B006  # typer reads it
    select: SelectOption = [],  # noqa: B006
    ignore: IgnoreOption = [],  # noqa: B006
    show_ignored: ShowIgnoredOption = False,
) -> None:
    """Write a page with pictures about a run: `analyze --format html=FILE`.

    Exit status: 0 written, 2 the input cannot be read or the file not be written.
    """
    analyze(
        paths,
        session=session,
        total_steps=total_steps,
        config=config,
        rules=rules,
        select=select,
        ignore=ignore,
        show_ignored=show_ignored,
        formats=[f"html={html}"],
    )
