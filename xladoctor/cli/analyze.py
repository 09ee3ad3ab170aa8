"""``xladoctor analyze``: findings from evidence that is already there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions
from xladoctor.cli.groups import argument, grouped, option
from xladoctor.cli.output import (
    AddIgnoresOption,
    ReportOptions,
    SessionOption,
    TotalStepsOption,
    add_ignores,
    extras,
)
from xladoctor.cli.progress_bar import progress_bar

if TYPE_CHECKING:
    from xladoctor.pods.where import Where


@dataclass(frozen=True)
class HostsOptions:
    """Where several hosts are read."""

    workers: int | None = option(
        "Read several hosts at a time, in N processes on this machine.",
        min=1,
        metavar="N",
        show_default="one per processor",
    )
    cluster: str | None = option(
        "Read several hosts on a Dask cluster: the address of its scheduler,"
        " tcp://host:8786, or dask for the one in Dask's configuration.",
        metavar="ADDRESS",
    )

    def where(self) -> Where:
        """The same, as the reader takes it."""
        from xladoctor.pods.where import Where

        return Where(self.workers, self.cluster)


@grouped
def analyze(
    *,
    paths: list[str] = argument(
        "A run: its directory, last (the newest), last~1 (the one before) or its script's"
        " name. Or another tool's output for one program: an XProf log directory,"
        " .xplane.pb files, Chrome traces, text files with metrics reports or logs, or a"
        " directory with any of these. All may be URLs: gs://, s3://, https://. - reads"
        " text from standard input.",
        metavar="PATH…",
    ),
    session: SessionOption = None,
    hosts: HostsOptions,
    total_steps: TotalStepsOption = None,
    config: ConfigOptions,
    adds_ignores: AddIgnoresOption = False,
    report: ReportOptions,
) -> None:
    """Print ranked findings for a run, or another tool's output.

    Needs neither torch nor JAX. Exit status: 0 analyzed, 2 the input cannot be read.
    """
    outputs, chosen = report.outputs(), config.selection()
    with progress_bar() as bar:
        examination = doctor.examine(
            paths,
            chosen,
            total_steps,
            session=session,
            progress=bar,
            extras=extras(outputs),
            where=hosts.where(),
        )
    report.deliver(examination.diagnosis, outputs)
    if adds_ignores:
        add_ignores([examination])
