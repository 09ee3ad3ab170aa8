"""``xladoctor run``: the program under capture, then its diagnosis."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from xladoctor.cli.boundary import complain
from xladoctor.cli.output import (
    Color,
    ColorOption,
    Format,
    FormatOption,
    TotalStepsOption,
    emit,
    show,
)
from xladoctor.cli.quantities import parse_duration, parse_size
from xladoctor.errors import XladoctorError

if TYPE_CHECKING:
    from xladoctor.capture.bootstrap._xladoctor.options import Options
    from xladoctor.capture.interface import RunOutcome, RunRequest


def run(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT [ARGS]...",
            help="The program and its arguments. After `--`: any command, for instance"
            " `-- torchrun train.py`.",
        ),
    ] = None,
    module: Annotated[
        bool, typer.Option("-m", help="Run a module, as python -m does: -m MODULE [ARGS]...")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Run directory to make (default: xladoctor-runs/DATE-SCRIPT)."
        ),
    ] = None,
    trace_steps: Annotated[
        int, typer.Option(min=0, help="Steps that the timeline covers; 0 for no timeline.")
    ] = 60,
    trace_after: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default="when the loop is at rest",
            help="Steps before the timeline begins; 0 for from the start.",
        ),
    ] = None,
    trace_seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds that it covers at most (waits not counted).")
    ] = 15.0,
    trace_bytes: Annotated[
        str, typer.Option(help="Size that its file may reach, about: 256M, 2G.")
    ] = "256M",
    stop_after: Annotated[
        int | None,
        typer.Option(min=1, show_default=False, help="End the program after so many steps."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Time after which the program hangs: 90s, 30m, 2h. The stacks of its threads are"
            " written, then it is ended.",
        ),
    ] = None,
    total_steps: TotalStepsOption = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the report to this file, not to standard output.")
    ] = None,
    output_format: FormatOption = Format.terminal,
    color: ColorOption = Color.auto,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No status line.")] = False,
) -> None:
    """Run a program, unchanged, and print what costs it time.

    Its input, output, arguments and exit status are as without xladoctor; the report follows on
    standard output. A step is what lies between two barriers (torch_xla.sync). Exit status: the
    program's own; 124 after --timeout; 2 if it could not be run or never used XLA.
    """
    from xladoctor.capture import launcher, progress
    from xladoctor.capture.bootstrap._xladoctor.options import Options

    options = Options(
        trace_steps=trace_steps, trace_after=trace_after, trace_seconds=trace_seconds,
        trace_bytes=parse_size(trace_bytes), stop_after=stop_after or 0,
    )  # fmt: skip
    request = _request(module, arguments or [], output, options, timeout)
    outcome = launcher.run(request, progress.observer(quiet))
    sys.stdout.flush()
    try:
        _report(outcome, total_steps, report, output_format, color)
    except XladoctorError as error:
        complain(error)
        raise SystemExit(outcome.status or 2) from error
    raise SystemExit(outcome.status)


def _request(
    module: bool, arguments: list[str], output: Path | None, options: Options,
    timeout: str | None,
) -> RunRequest:  # fmt: skip
    from xladoctor.capture.interface import RunRequest

    if not arguments:
        raise typer.BadParameter("name a script, -m MODULE, or -- COMMAND", param_hint="SCRIPT")
    words = sys.argv[1:]
    own_command = not module and "--" in words and words[words.index("--") + 1 :] == arguments
    if own_command:
        command = tuple(arguments)
    else:
        command = (sys.executable, *(["-m"] if module else []), *arguments)
    return RunRequest(
        command=command, script=arguments[0], output=output, needs_torch_xla=not own_command,
        options=options, timeout_s=None if timeout is None else parse_duration(timeout),
    )  # fmt: skip


def _report(
    outcome: RunOutcome, total_steps: int | None, report: Path | None, output_format: Format,
    color: Color,
) -> None:  # fmt: skip
    from xladoctor.capture.interface import CaptureError

    if report is None:
        _write(outcome, total_steps, output_format, color, sys.stdout)
        return
    try:
        with report.open("w", encoding="utf-8") as file:
            _write(outcome, total_steps, output_format, Color.never, file)
    except OSError as error:
        raise CaptureError(f"cannot write {report}: {error.strerror}") from error


def _write(
    outcome: RunOutcome, total_steps: int | None, output_format: Format, color: Color,
    stream: TextIO,
) -> None:  # fmt: skip
    """The report of each program that the command ran; several in JSON are an array."""
    from xladoctor.capture.interface import CaptureError
    from xladoctor.cli.run_directory import diagnose_run

    array = output_format is Format.json and len(outcome.runs) > 1
    for number, run in enumerate(outcome.runs):
        if not run.path.exists():
            raise CaptureError(f"the run directory {run.path} is gone, and what was captured with"
                               " it", "something removed it while the program ran")  # fmt: skip
        diagnosis = diagnose_run(run, total_steps, lost=outcome.lost)
        if array:
            emit("[" if number == 0 else ",", stream)
        elif number:
            emit("\n", stream)
        show(diagnosis, output_format, color, stream)
    if array:
        emit("]\n", stream)
