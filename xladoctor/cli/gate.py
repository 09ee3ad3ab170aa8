"""``xladoctor gate``: whether a program may be merged, by an exit status and a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.cli.configured import (
    Asked,
    ConfigOption,
    FailOnOption,
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
    VerboseOption,
    add_ignores,
    draws,
    parse_outputs,
)
from xladoctor.cli.request import after_dashes, request_for
from xladoctor.foreign import clean, quoted
from xladoctor.report.detail import Detail
from xladoctor.report.output import Color, Output, deliver, emit

if TYPE_CHECKING:
    from xladoctor.configuration.interface import Configured
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.gate.programs import Policy, Program
    from xladoctor.recording.bootstrap._xladoctor.options import Options
    from xladoctor.report.interface import Report

_STATUS = {"failed": 1, "missing": 3}


def gate(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN | -- COMMAND...]",
            help="A run as for analyze (default: last, the newest), or a command to run and judge.",
        ),
    ] = None,
    fail_on: FailOnOption = None,
    level: Annotated[
        list[str],
        typer.Option(
            "--level",
            metavar="RULE=off|info|warning|error",
            show_default=False,
            envvar="XLADOCTOR_LEVEL",
            help="How to treat a rule or family, whatever its severity.",
        ),
    ] = [],  # noqa: B006  # typer reads it
    budget: Annotated[
        list[str],
        typer.Option(
            "--budget",
            metavar="NAME=LIMIT",
            show_default=False,
            envvar="XLADOCTOR_BUDGET",
            help="A budget, such as max_host_syncs_per_step=0.1.",
        ),
    ] = [],  # noqa: B006
    time: Annotated[
        bool | None,
        typer.Option(
            "--time", envvar="XLADOCTOR_TIME", help="Also judge the rules that go by time."
        ),
    ] = None,
    allow_missing: Annotated[
        bool | None,
        typer.Option(
            "--allow-missing",
            envvar="XLADOCTOR_ALLOW_MISSING",
            help="Pass even if a rule or budget could not be judged.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            envvar="XLADOCTOR_BASELINE",
            show_default=".xladoctor/baseline.json",
            help="Baseline file: the known findings.",
        ),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the current findings to the baseline.")
    ] = False,
    runs: Annotated[
        int,
        typer.Option(
            min=1, help="Run the command N times: findings by majority, counts and times by median."
        ),
    ] = 1,
    script: Annotated[
        str | None,
        typer.Option(
            show_default="its path in the repository",
            help="Name of the program in the baseline and in budgets.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Run directory to create for a command.")
    ] = None,
    stop_after: Annotated[
        int | None,
        typer.Option(min=1, show_default=False, help="End the program after N steps."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(show_default=False, help="Treat the program as hung after this long."),
    ] = None,
    config: ConfigOption = None,
    rules: RulesOption = [],  # noqa: B006
    select: SelectOption = [],  # noqa: B006
    ignore: IgnoreOption = [],  # noqa: B006
    show_ignored: ShowIgnoredOption = False,
    verbose: VerboseOption = False,
    top: TopOption = None,
    adds_ignores: AddIgnoresOption = False,
    formats: FormatOption = [],  # noqa: B006
    color: ColorOption = Color.auto,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no status line.")] = False,
) -> None:
    """Judge a program before it is merged, by what it does and not by how fast the machine is.

    Counts decide (compilations after warm-up; reads, fallbacks and barriers per step): they are the
    same on the CPU device and on an accelerator. Exit status: 0 passed; 1 a finding or budget
    failed; 2 the program failed, or a file cannot be read; 3 a rule or budget that was asked for
    could not be judged.
    """
    from xladoctor.recording import launcher

    outputs = parse_outputs(formats, detail=Detail(show_ignored, verbose, top))
    changes = {"fail_on": fail_on, "time": time, "allow_missing": allow_missing}
    with launcher.signals_kept():  # libraries start threads when they are imported
        from xladoctor.gate.programs import programs

        configuration = configured(Asked(config, select, ignore, level, budget, changes, rules))
        policy = policy_of(configuration, _named(baseline, new=update_baseline))
    words = arguments or []
    if after_dashes(words) and words:
        options = _options(stop_after)
        repeat = _Repeat(tuple(words), output, timeout, runs, quiet)
        diagnoses = _run(repeat, options, configuration, pictures=draws(outputs))
    else:
        of_command = {
            "--runs": runs > 1,
            "--output": output,
            "--stop-after": stop_after,
            "--timeout": timeout,
        }
        if needless := [option for option, given in of_command.items() if given]:
            raise typer.BadParameter(
                "only valid with a command: -- python train.py", param_hint=needless[0]
            )
        diagnoses = [[_of_directory(words, configuration, pictures=draws(outputs))]]
    judged = programs(diagnoses, script)
    if update_baseline:
        policy = policy.updated(judged)
        emit(_written(policy, judged))
        if formats:
            deliver(decided(policy, judged), outputs, color)
        status = 0
    else:
        status = delivered(decided(policy, judged), outputs, color, quiet=quiet)
    if adds_ignores:
        add_ignores([program.diagnosis for program in judged])
    raise SystemExit(status)


def _named(baseline: str | None, *, new: bool) -> Path | None:
    """The file that ``--baseline`` names: without it, every finding would look new."""
    from xladoctor.gate.interface import GateError

    if baseline and not new and not Path(baseline).exists():
        raise GateError(f"{baseline}: no such baseline", "create it with --update-baseline")
    return Path(baseline) if baseline else None


def delivered(
    reports: Sequence[Report], outputs: Sequence[Output], color: Color, *, quiet: bool
) -> int:
    """Write the reports; if all go to files, print the verdict. Returns the exit status."""
    from xladoctor.report.gate import verdict

    deliver(reports, outputs, color)
    if not quiet and all(output.path for output in outputs):
        lines = [f"{clean(verdict(report.outcome))}\n" for report in reports if report.outcome]
        emit("".join(lines), sys.stderr)
    return status_of(reports)


def decided(policy: Policy, judged: Sequence[Program]) -> list[Report]:
    """The decision on each program."""
    from xladoctor.report.interface import Report

    return [Report(*policy.decide(program)) for program in judged]


def policy_of(configuration: Configured, baseline: Path | None = None) -> Policy:
    """What programs are judged by today.

    Args:
        baseline: its file, if not the configured one.

    Raises:
        XladoctorError: the baseline or the acknowledgements are unusable.
    """
    from xladoctor.gate import acknowledged
    from xladoctor.gate.baseline import read
    from xladoctor.gate.programs import Policy

    gate = configuration.settings.gate
    path = baseline or configuration.folder / gate.baseline
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    accepted = acknowledged.read(configuration.folder / gate.acknowledged)
    today = datetime.now(UTC).date()
    return Policy(configuration.settings, shown, read(shown), accepted, today)


def status_of(reports: Sequence[Report]) -> int:
    """The exit status: a failure outranks what is missing."""
    statuses = {report.outcome.status for report in reports if report.outcome}
    return next((_STATUS[status] for status in ("failed", "missing") if status in statuses), 0)


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A command, and how many times it is run."""

    command: tuple[str, ...]
    output: Path | None
    timeout: str | None
    times: int
    quiet: bool


def _options(stop_after: int | None) -> Options:
    from xladoctor.recording.bootstrap._xladoctor.options import Options

    return Options(stop_after=stop_after or 0)


def _run(
    repeat: _Repeat, options: Options, configuration: Configured, *, pictures: bool
) -> list[list[Diagnosis]]:
    """Run the command under capture; one that fails is not judged."""
    from xladoctor import doctor, hang
    from xladoctor.gate.interface import GateError
    from xladoctor.recording import launcher, progress

    selection = doctor.selection(configuration)
    diagnoses = []
    for number in range(1, repeat.times + 1):
        output = repeat.output
        if output is not None and repeat.times > 1:
            output = output.with_name(f"{output.name}-{number}")
        request = request_for(
            _with_python(repeat.command), output, options, repeat.timeout, own_command=True
        )
        outcome = launcher.run(request, progress.observer(repeat.quiet), hang.end)
        sys.stdout.flush()
        if outcome.status:
            where = quoted(str(outcome.runs[0].path))
            raise GateError(
                f"the command ended with status {outcome.status}: not judged",
                f"to see what was captured: xladoctor analyze {where}",
            )
        with launcher.signals_kept():
            made = doctor.examine_outcome(outcome, selection, pictures=pictures)
            diagnoses.append(list(made))
    return diagnoses


def _with_python(command: tuple[str, ...]) -> tuple[str, ...]:
    """A script is run by this interpreter, as by ``xladoctor run``."""
    is_script = command[0].endswith(".py") and not os.access(command[0], os.X_OK)
    return (sys.executable, *command) if is_script else command


def _of_directory(words: Sequence[str], configuration: Configured, *, pictures: bool) -> Diagnosis:
    from xladoctor import doctor
    from xladoctor.cli.progress_bar import progress_bar

    if len(words) > 1:
        raise typer.BadParameter(
            f"expected one run, or -- and a command: -- {quoted(*words)}", param_hint="RUN"
        )
    if words and words[0].endswith(".py"):
        raise typer.BadParameter(
            f"put -- before a program: -- python {quoted(words[0])}", param_hint="RUN"
        )
    with progress_bar() as bar:
        return doctor.examine(
            words[0] if words else "last",
            doctor.selection(configuration),
            progress=bar,
            pictures=pictures,
        )


def _written(policy: Policy, judged: Sequence[Program]) -> str:
    scripts = policy.baseline.scripts
    counts = {program.entry: len(scripts[program.entry].findings) for program in judged}
    lines = [
        f"  {clean(name)}: {count} finding{'s' * (count != 1)}\n" for name, count in counts.items()
    ]
    return f"wrote {clean(str(policy.path))}\n{''.join(lines)}"
