"""``xladoctor fix``: patches for findings, shown, tried, or written."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.cli.configured import ConfigOptions, configured
from xladoctor.cli.destination import refuse_url
from xladoctor.cli.groups import grouped
from xladoctor.cli.output import ColorOption, PlainFormat, PlainOption, QuietOption
from xladoctor.quantities import parse_duration
from xladoctor.report.output import Color, Format, Output, say, write_each

if TYPE_CHECKING:
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.fixes.interface import Plan
    from xladoctor.fixes.proof.interface import Proof
    from xladoctor.fixes.proof.trial import Trials


@dataclass(frozen=True)
class VerifyOptions:
    """How patches are tried."""

    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Try each patch: run the program with and without it, in copies of the project.",
        ),
    ] = False
    pairs: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="How often to run with and without each patch."),
    ] = 3
    rtol: Annotated[
        float,
        typer.Option(
            min=0, metavar="X", help="Relative tolerance for numbers in the program's output."
        ),
    ] = 1e-3
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            show_default=False,
            help="Time limit for all runs together, such as 20m.",
        ),
    ] = None
    stop_after: Annotated[
        int,
        typer.Option(min=0, metavar="N", show_default=False, help="End each run after N steps."),
    ] = 0
    include: Annotated[
        list[Path],
        typer.Option(
            metavar="PATH",
            show_default=False,
            help="Also copy this file or folder, which git ignores. May be repeated.",
        ),
    ] = field(default_factory=list)

    def trials(self, diagnosis: Diagnosis, quiet: bool) -> Trials:
        """The same, for a program that was run."""
        from xladoctor.fixes.proof.trial import Trials

        return Trials(
            diagnosis.run.command,
            Path(diagnosis.run.cwd or "."),
            self.pairs,
            self.rtol,
            parse_duration(self.budget) if self.budget else 0.0,
            self.stop_after,
            self.include,
            (lambda text: None) if quiet else say,
            diagnosis.time.loop_s or diagnosis.time.total_s,
        )


@grouped
def fix(
    *,
    path: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run: its directory, last, last~1 or a script's name."
        ),
    ],
    write: Annotated[
        bool,
        typer.Option("--write", help="Apply the patches; with --verify, only those that hold."),
    ] = False,
    root: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            file_okay=False,
            show_default="the run's repository",
            help="The project: no file outside it is changed.",
        ),
    ] = None,
    options: VerifyOptions,
    config: ConfigOptions,
    output: PlainOption = PlainFormat.terminal,
    quiet: QuietOption = False,
    color: ColorOption = Color.auto,
) -> None:
    """Show patches for a run's findings; try them, or write them.

    Exit status: 0 there are patches, 1 there are none or none holds, 2 the input cannot be used.
    """
    from xladoctor import doctor
    from xladoctor.cli.progress_bar import progress_bar
    from xladoctor.report import fixes

    refuse_url(path, "patches are tried and kept in a run directory of this machine")
    with progress_bar() as bar:
        chosen = doctor.selection(configured(config))
        diagnosis, plan = doctor.plan_fixes(path, chosen, root, bar)
    proofs = _proofs(plan, diagnosis, options, quiet)
    form = Output(Format(output.value))
    write_each(
        [form], color, lambda name, text, style: fixes.render(name, plan, proofs, text, style)
    )
    kept = (
        [proof.patch for proof in proofs if proof.is_kept] if proofs is not None else plan.patches
    )
    if write:
        from xladoctor.fixes.write import written

        for line in written(kept):
            say(line)
    if not kept:
        raise typer.Exit(1)


def _proofs(
    plan: Plan, diagnosis: Diagnosis, options: VerifyOptions, quiet: bool
) -> list[Proof] | None:
    """What came of trying the patches; None if that was not asked for."""
    if not options.verify:
        return None
    from xladoctor import doctor
    from xladoctor.fixes.proof.trial import prove

    for number in (signal.SIGTERM, signal.SIGHUP):  # copies are deleted, as with Ctrl-C
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    proofs = prove(plan, options.trials(diagnosis, quiet)) if plan.patches else []
    doctor.keep_proofs(diagnosis, proofs)
    return proofs
