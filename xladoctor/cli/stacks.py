"""``xladoctor stacks``: what each thread of a running process does, and why it hangs."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.cli.boundary import complain
from xladoctor.cli.output import Color, ColorOption, PlainFormat, PlainOption, emit, style_for

if TYPE_CHECKING:
    from xladoctor.stacks.interface import Stacks


def stacks(
    pid: Annotated[
        int, typer.Argument(metavar="PID", min=1, help="The number of a process that runs Python.")
    ],
    native: Annotated[
        bool,
        typer.Option(
            "--native",
            help="With frames of C++ and C, which tell compiling from waiting; takes seconds.",
        ),
    ] = False,
    children: Annotated[
        bool,
        typer.Option(
            "--children/--no-children", help="With the Python processes that it has started."
        ),
    ] = True,
    everything: Annotated[
        bool,
        typer.Option("--all", help="With threads that wait for work, and those of xladoctor."),
    ] = False,
    output_format: PlainOption = PlainFormat.terminal,
    color: ColorOption = Color.auto,
) -> None:
    """Show the stacks of a running process, and what each thread waits for.

    Reads them from outside with py-spy, which needs the permission to trace the process; it is
    stopped for a moment and goes on. Exit status: 0 shown, 2 the stacks cannot be read.
    """
    found = _read(pid, native, children)
    if output_format is PlainFormat.json:
        from xladoctor.report.stacks import record

        text = json.dumps({"processes": [record(each) for each in found]}, indent=1)
        emit(f"{text}\n")
        return
    _show(found, everything, color)


def _read(pid: int, native: bool, children: bool) -> list[Stacks]:
    """The processes that could be read; what is wrong with others is said on standard error."""
    from xladoctor.stacks.dump import dump, dump_tree
    from xladoctor.stacks.interface import StacksError

    if not children:
        return [dump(pid, native)]
    found = dump_tree(pid, native)
    errors = [each for each in found if isinstance(each, StacksError)]
    if len(errors) == len(found):
        raise errors[0]
    for error in errors:
        complain(error)
    return [each for each in found if not isinstance(each, StacksError)]


def _show(found: list[Stacks], everything: bool, color: Color) -> None:
    from xladoctor.report.stacks import render

    text, style = io.StringIO(), style_for(sys.stdout, color)
    for number, each in enumerate(found):
        text.write("\n" if number else "")
        render(each, text, style, everything)
    emit(text.getvalue())
