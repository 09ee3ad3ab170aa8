"""``xladoctor report``: a page about evidence that is already there."""

from __future__ import annotations

from pathlib import Path

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions
from xladoctor.cli.groups import REQUIRED, argument, flag, grouped, option
from xladoctor.cli.output import REPORT, SessionOption, TotalStepsOption, extras
from xladoctor.cli.progress_bar import progress_bar
from xladoctor.report.detail import Detail
from xladoctor.report.output import Color, Format, Output, deliver


@grouped
def report(
    *,
    paths: list[str] = argument("A run, or any input `analyze` accepts.", metavar="RUN…"),
    html: Path = option("The page to write: one HTML file.", default=REQUIRED, metavar="FILE"),
    session: SessionOption = None,
    total_steps: TotalStepsOption = None,
    config: ConfigOptions,
    show_ignored: bool = flag(
        "List the ignored findings, with their reasons.", rich_help_panel=REPORT
    ),
) -> None:
    """Write an HTML page about a run, with pictures.

    The same as `analyze --format html=FILE`. Exit status: 0 written, 2 the input cannot be
    read or the file cannot be written.
    """
    from xladoctor.report.interface import Report

    chosen = config.selection()
    page = Output(Format.html, html, Detail(show_ignored))
    with progress_bar() as bar:
        examination = doctor.examine(
            paths, chosen, total_steps, session=session, progress=bar, extras=extras([page])
        )
    deliver([Report(examination.diagnosis)], [page], Color.auto)
