"""``xladoctor run``: the program under capture, then its diagnosis."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.cli.boundary import OWN_FAULT, told
from xladoctor.cli.configured import (
    Asked,
    ConfigOption,
    IgnoreOption,
    RulesOption,
    SelectOption,
    configured,
)
from xladoctor.cli.output import (
    AddIgnoresOption,
    ColorOption,
    FormatOption,
    ShowIgnoredOption,
    TopOption,
    TotalStepsOption,
    VerboseOption,
    add_ignores,
    draws,
    parse_outputs,
)
from xladoctor.cli.request import after_dashes, request_for
from xladoctor.quantities import parse_size
from xladoctor.report.detail import Detail
from xladoctor.report.output import Color, deliver

if TYPE_CHECKING:
    from xladoctor.diagnosis.interface import Diagnosis


def run(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT [ARGS]...",
            help="The program and its arguments. After `--`: any command, such as"
            " `-- torchrun train.py`.",
        ),
    ] = None,
    module: Annotated[
        bool, typer.Option("-m", help="Run a module, like python -m: -m MODULE [ARGS]...")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Run directory to create (default: xladoctor-runs/DATE-SCRIPT).",
        ),
    ] = None,
    trace_steps: Annotated[
        int, typer.Option(min=0, help="How many steps the timeline covers; 0 for no timeline.")
    ] = 60,
    trace_after: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default="once the loop is steady",
            help="Steps to skip before the timeline begins; 0 to begin at once.",
        ),
    ] = None,
    trace_seconds: Annotated[
        float,
        typer.Option(
            min=0.1,
            help="Longest time it covers, in seconds; compiling and waiting do not count, up to"
            " four times as long.",
        ),
    ] = 15.0,
    trace_bytes: Annotated[
        str, typer.Option(help="Approximate size limit of the timeline file, such as 100M or 2G.")
    ] = "100M",
    stop_after: Annotated[
        int | None,
        typer.Option(min=1, show_default=False, help="End the program after N steps."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Treat the program as hung after this long (90s, 30m, 2h): save the stacks of its"
            " threads, then end it.",
        ),
    ] = None,
    total_steps: TotalStepsOption = None,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate",
            help="Judge the run as `xladoctor gate` does. If the program succeeds, the exit status"
            " is the gate's.",
        ),
    ] = False,
    config: ConfigOption = None,
    rules: RulesOption = [],  # noqa: B006
    select: SelectOption = [],  # noqa: B006
    ignore: IgnoreOption = [],  # noqa: B006
    show_ignored: ShowIgnoredOption = False,
    verbose: VerboseOption = False,
    top: TopOption = None,
    adds_ignores: AddIgnoresOption = False,
    formats: FormatOption = [],  # noqa: B006  # typer reads it
    color: ColorOption = Color.auto,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no status line.")] = False,
) -> None:
    """Run a program unchanged, and print what costs it time.

    The program's input, output, arguments and exit status are the same as without xladoctor; the
    report follows on standard output. A step of PyTorch/XLA is what lies between two barriers
    (torch_xla.sync); one of JAX ends with the call that computes most in each iteration, one of
    torch.compile with the optimizer's update. Exit status: the program's own; 124 after --timeout;
    2 if it could not be run or computed nothing that these compile.
    """
    from xladoctor import doctor, hang
    from xladoctor.recording import launcher, progress
    from xladoctor.recording.bootstrap._xladoctor.options import Options

    outputs = parse_outputs(formats, detail=Detail(show_ignored, verbose, top))
    with launcher.signals_kept():  # libraries start threads when they are imported
        from xladoctor.cli.gate import decided, delivered, policy_of
        from xladoctor.gate.programs import programs
        from xladoctor.report.interface import Report

        configuration = configured(Asked(config, select, ignore, rules=rules))
        selection = doctor.selection(configuration)
        policy = policy_of(configuration) if gate else None
    options = Options(
        trace_steps=trace_steps,
        trace_after=trace_after,
        trace_seconds=trace_seconds,
        trace_bytes=parse_size(trace_bytes),
        stop_after=stop_after or 0,
    )
    words = arguments or []
    request = request_for(
        words,
        output,
        options,
        timeout,
        module=module,
        own_command=not module and after_dashes(words),
    )
    outcome = launcher.run(request, progress.observer(quiet), hang.end)
    sys.stdout.flush()
    diagnoses: list[Diagnosis] = []
    try:
        try:
            pictures = draws(outputs)
            diagnoses.extend(
                doctor.examine_outcome(outcome, selection, total_steps, pictures=pictures)
            )
            if policy and not outcome.status:
                reports = decided(policy, programs([diagnoses]))
            else:
                reports = list(map(Report, diagnoses))
        except Exception:  # the next program's error must not lose this one's report
            if diagnoses:
                deliver(list(map(Report, diagnoses)), outputs, color)
            raise
        status = delivered(reports, outputs, color, quiet=quiet)
        if adds_ignores:
            add_ignores(diagnoses)
    except Exception as error:  # whatever it is, the program's status outlives it
        status = told(error)
        if status == OWN_FAULT and not gate:
            status = 0
    raise SystemExit(outcome.status or status)
