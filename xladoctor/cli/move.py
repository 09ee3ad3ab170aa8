"""``xladoctor move``: a program moved to another framework, shown, written, or proven."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from xladoctor import doctor
from xladoctor.cli.groups import argument, flag, grouped, option, repeated
from xladoctor.cli.output import ColorOption, PlainFormat, PlainOption, QuietOption
from xladoctor.quantities import parse_duration
from xladoctor.report.output import Color, Format, Output, say, write_each

if TYPE_CHECKING:
    from xladoctor.move.interface import Move
    from xladoctor.move.proof.interface import Verification


@dataclass(frozen=True)
class TargetOptions:
    """Where to."""

    to: str = option("torch_tpu (TorchTPU), or torch.compile.", default="torch_tpu", metavar="NAME")
    device: str | None = option(
        "The type of devices there.", metavar="TYPE", show_default="tpu; cuda for torch.compile"
    )


@dataclass(frozen=True)
class WritingOptions:
    """What is written, and where."""

    write: bool = flag("Change the files. What is left to do by hand stays as it is.")
    root: Path | None = option(
        "The project: no file outside it is changed.",
        exists=True,
        file_okay=False,
        show_default="the script's repository, or its folder",
    )


@dataclass(frozen=True)
class TrialOptions:
    """How both programs are tried."""

    verify: bool = flag(
        "Run both programs, in copies of the project, and compare their first steps."
    )
    from_python: Path | None = option(
        "Python of the original program.", exists=True, dir_okay=False, show_default="this one"
    )
    to_python: Path | None = option("Python of the moved one.", exists=True, dir_okay=False)
    rtol: float = option(
        "Relative tolerance of losses, gradients and outputs.", default=1e-3, min=0, metavar="X"
    )
    stop_after: int = option(
        "End the runs that are counted after N steps.",
        default=0,
        min=0,
        metavar="N",
        show_default=False,
    )
    budget: str | None = option("Time limit for each run, such as 10m.", metavar="TIME")
    include: list[Path] = repeated(
        "Also copy this file or folder, which git ignores. May be repeated.", metavar="PATH"
    )


@grouped
def move(
    *,
    script: Path = argument(
        "The program's main file. What it imports from its project is moved with it.",
        exists=True,
        dir_okay=False,
    ),
    arguments: list[str] = argument(
        "Its arguments, behind --, for --verify.", default=[], metavar="[-- ARGUMENT]..."
    ),
    target: TargetOptions,
    writing: WritingOptions,
    trial: TrialOptions,
    output: PlainOption = PlainFormat.terminal,
    quiet: QuietOption = False,
    color: ColorOption = Color.auto,
) -> None:
    """Move a torch_xla program to TorchTPU or torch.compile.

    Shows the changes as a diff; --write makes them, --verify runs both programs.

    Exit status: 0 all of it is moved (with --verify: and its first steps agree), 1 not so, 2 the
    input cannot be used.
    """
    from xladoctor.move.program import written
    from xladoctor.report import moves

    moved = _planned(script, writing.root, target)
    form = Output(Format(output.value), is_patch=output is PlainFormat.terminal)
    found = _verified(moved, script, arguments, trial, quiet=quiet) if trial.verify else None
    write_each(
        [form], color, lambda name, text, style: moves.render(name, moved, found, text, style)
    )
    agrees = found is None or found.judgement.outcome == "agrees"
    if writing.write and agrees:
        for line in written(moved):
            say(line)
    elif writing.write:
        say("nothing was written")
    if moved.refused or not agrees:
        raise typer.Exit(1)


def _planned(script: Path, root: Path | None, options: TargetOptions) -> Move:
    """The program as it is to be. What its newest run shows is taken into account."""
    from xladoctor.evidence.runs import locate
    from xladoctor.ingest.interface import IngestError
    from xladoctor.move.interface import MoveError
    from xladoctor.move.program import files_of, move
    from xladoctor.move.run import of_run, with_run
    from xladoctor.move.targets import table_for, target_of
    from xladoctor.repository import from_here, repository

    script = script.resolve()
    project = (root or repository(script.parent) or script.parent).resolve()
    if not script.is_relative_to(project):
        raise MoveError(f"{from_here(script)} is not in the project {from_here(project)}")
    files = files_of(script, project)
    names = table_for(files)
    try:
        run = of_run(doctor.load_evidence(locate(str(script))))
    except IngestError:  # it was never run here
        run = None
    several = run is not None and run.processes > 1
    target = target_of(names, options.to, options.device)
    moved = move(files, project, names, target, several=several)
    return moved if run is None else with_run(moved, run)


def _verified(
    moved: Move, script: Path, arguments: list[str], options: TrialOptions, *, quiet: bool
) -> Verification:
    """What came of running both programs."""
    from xladoctor.cli.fix import Progress
    from xladoctor.move.interface import MoveError
    from xladoctor.move.proof.interface import Side
    from xladoctor.move.proof.verify import Trial, verify

    if options.to_python is None:
        raise MoveError(
            "--verify needs --to-python, the Python of an environment for the moved program",
            f"such as --to-python ENVIRONMENT/bin/python, in which {moved.target.title} works",
        )
    here = Path.cwd()
    cwd = here if here.resolve().is_relative_to(moved.root) else script.parent
    progress = Progress(quiet)
    trial = Trial(
        [os.path.relpath(script.resolve(), cwd.resolve()), *arguments],
        cwd.resolve(),
        rtol=options.rtol,
        stop_after=options.stop_after,
        limit_s=parse_duration(options.budget) if options.budget else 0.0,
        include=options.include,
        show=progress.show,
    )
    original = (options.from_python or Path(sys.executable)).absolute()
    source = Side(moved.source, original, moved.environment)
    target = Side(moved.target.title, options.to_python.absolute(), device=moved.target.device)
    try:
        return verify(moved.root, moved.texts, source, target, trial)
    finally:
        progress.clear()
