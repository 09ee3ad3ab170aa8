"""``xladoctor run``: the program under capture, then its diagnosis."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.cli.boundary import complain
from xladoctor.cli.output import Color, ColorOption, Format, FormatOption, TotalStepsOption, show
from xladoctor.errors import XladoctorError

if TYPE_CHECKING:
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
    trace_seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds that it covers at most (waits not counted).")
    ] = 15.0,
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
    standard output. Exit status: the program's own; 2 if it could not be run or never used XLA.
    """
    from xladoctor.capture import launcher, progress

    request = _request(module, arguments or [], output, trace_steps, trace_seconds)
    outcome = launcher.run(request, progress.observer(quiet))
    sys.stdout.flush()
    try:
        _report(outcome, total_steps, report, output_format, color)
    except XladoctorError as error:
        complain(error)
        raise SystemExit(outcome.status or 2) from error
    raise SystemExit(outcome.status)


def _request(
    module: bool, arguments: list[str], output: Path | None, steps: int, seconds: float
) -> RunRequest:
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
        command=command,
        script=arguments[0],
        output=output,
        needs_torch_xla=not own_command,
        trace_steps=steps,
        trace_seconds=seconds,
    )


def _report(
    outcome: RunOutcome, total_steps: int | None, report: Path | None, output_format: Format,
    color: Color,
) -> None:  # fmt: skip
    from xladoctor.capture.interface import CaptureError
    from xladoctor.diagnosis.engine import diagnose
    from xladoctor.diagnosis.rule import load_rules
    from xladoctor.evidence.load import load

    path = outcome.directory.path
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    diagnosis = diagnose(load(str(shown)), load_rules(), total_steps)
    with outcome.directory.diagnosis.open("w", encoding="utf-8") as file:
        show(diagnosis, Format.json, color, file)
    if report is None:
        show(diagnosis, output_format, color, sys.stdout)
        return
    try:
        with report.open("w", encoding="utf-8") as file:
            show(diagnosis, output_format, Color.never, file)
    except OSError as error:
        raise CaptureError(f"cannot write {report}: {error.strerror}") from error
