"""``xladoctor stacks``: what each thread of a running process is doing, and why it hangs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TextIO

from xladoctor.cli.boundary import complain
from xladoctor.cli.groups import argument, flag, grouped, option
from xladoctor.cli.output import ColorOption, PlainFormat, PlainOption
from xladoctor.foreign import as_json
from xladoctor.report.output import Color, emit, show

if TYPE_CHECKING:
    from xladoctor.report.interface import Style
    from xladoctor.stacks.interface import Stacks


@grouped
def stacks(
    *,
    pid: int = argument("The id of a Python process.", metavar="PID", min=1),
    native: bool = flag(
        "Include C and C++ frames, which distinguish compiling from waiting. Takes seconds."
    ),
    children: bool = option("Include the Python processes it has started.", default=True),
    everything: bool = flag("Include idle threads and xladoctor's own.", "--all"),
    output_format: PlainOption = PlainFormat.terminal,
    color: ColorOption = Color.auto,
) -> None:
    """Show a process's stacks, and what each thread waits for.

    Reads them from outside with py-spy, which needs permission to trace the process. The process
    pauses for a moment. Exit status: 0 shown, 2 the stacks cannot be read.
    """
    processes = _read(pid, native, children)
    from xladoctor.report.stacks import record

    if output_format is PlainFormat.json:
        emit(as_json({"processes": [record(each) for each in processes]}, ascii_only=True))
    else:
        show(partial(_render, processes, everything), color)


def _render(processes: list[Stacks], everything: bool, output: TextIO, style: Style) -> None:
    from xladoctor.report.stacks import render

    for number, each in enumerate(processes):
        output.write("\n" if number else "")
        render(each, output, style, everything)


def _read(pid: int, native: bool, children: bool) -> list[Stacks]:
    """The processes that could be read; what is wrong with others is said on standard error."""
    from xladoctor.stacks.dump import dump, dump_tree
    from xladoctor.stacks.interface import StacksError

    if not children:
        return [dump(pid, native)]
    processes = dump_tree(pid, native)
    errors = [each for each in processes if isinstance(each, StacksError)]
    if len(errors) == len(processes):
        raise errors[0]
    for error in errors:
        complain(error)
    return [each for each in processes if not isinstance(each, StacksError)]
