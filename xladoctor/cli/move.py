"""``xladoctor move``: a program moved to another framework, shown, written, or proven."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from xladoctor import doctor
from xladoctor.cli.groups import argument, flag, grouped, option
from xladoctor.cli.output import ColorOption, PlainFormat, PlainOption
from xladoctor.report.output import Color, Format, Output, say, write_each


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


@grouped
def move(
    *,
    script: Path = argument(
        "The program's main file. What it imports from its project is moved with it.",
        exists=True,
        dir_okay=False,
    ),
    target: TargetOptions,
    writing: WritingOptions,
    output: PlainOption = PlainFormat.terminal,
    color: ColorOption = Color.auto,
) -> None:
    """Move a torch_xla program to TorchTPU or torch.compile: show the diff, or write it.

    Exit status: 0 all of it is moved, 1 something is left to do by hand, 2 the input cannot be
    used.
    """
    from xladoctor.move.program import written
    from xladoctor.report import moves

    moved = doctor.plan_move(script, writing.root, target.to, target.device)
    form = Output(Format(output.value), is_patch=output is PlainFormat.terminal)
    write_each([form], color, lambda name, text, style: moves.render(name, moved, text, style))
    if writing.write:
        for line in written(moved):
            say(line)
    if moved.refused:
        raise typer.Exit(1)
