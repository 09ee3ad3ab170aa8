"""``xladoctor gate``: whether a program may be merged, by an exit status and a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import typer

from xladoctor import doctor
from xladoctor.cli.boundary import end_if_interrupted
from xladoctor.cli.configured import ConfigOptions, FailOnOption, configured
from xladoctor.cli.destination import Destination, directory_of
from xladoctor.cli.groups import argument, flag, grouped, option, repeated
from xladoctor.cli.judging import decided, delivered, policy_of
from xladoctor.cli.output import AddIgnoresOption, QuietOption, ReportOptions, add_ignores, extras
from xladoctor.cli.progress_bar import progress_bar
from xladoctor.cli.request import ProgramOptions, after_dashes
from xladoctor.cli.tpu_check import CompilingOptions, checked_on_tpus
from xladoctor.foreign import clean, quoted
from xladoctor.quantities import counted, duration
from xladoctor.report.output import Output, deliver, emit
from xladoctor.repository import from_here

if TYPE_CHECKING:
    from xladoctor.configuration.interface import Configured
    from xladoctor.diagnosis.examination import Examination, Extras
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.gate.programs import Policy, Program
    from xladoctor.recording.interface import RunOutcome
    from xladoctor.report.interface import Report


@dataclass(frozen=True)
class JudgingOptions:
    """What the gate judges by."""

    section: ClassVar[str] = "Judging"

    fail_on: FailOnOption = None
    level: list[str] = repeated(
        "Report a rule or family at this level, whatever its severity.",
        metavar="RULE=off|info|warning|error",
        envvar="XLADOCTOR_LEVEL",
    )
    budget: list[str] = repeated(
        "A budget, such as max_host_syncs_per_step=0.1.",
        metavar="NAME=LIMIT",
        envvar="XLADOCTOR_BUDGET",
    )
    time: bool | None = option(
        "Also judge by rules that depend on time.", "--time", envvar="XLADOCTOR_TIME"
    )
    allow_missing: bool | None = option(
        "Pass even if a rule or budget could not be judged.",
        "--allow-missing",
        envvar="XLADOCTOR_ALLOW_MISSING",
    )
    baseline: str | None = option(
        "Baseline file: the known findings.",
        envvar="XLADOCTOR_BASELINE",
        show_default=".xladoctor/baseline.json",
    )

    def configured(self, config: ConfigOptions) -> Configured:
        """The configuration with these options."""
        changes = {"fail_on": self.fail_on, "time": self.time, "allow_missing": self.allow_missing}
        return configured(config, levels=self.level, budgets=self.budget, of_gate=changes)


@dataclass(frozen=True)
class CommandOptions(ProgramOptions):
    """How a command is run; the script's name is also for a run that already exists."""

    section: ClassVar[str] = "Running a command"

    runs: int = option(
        "Run the command N times: findings by majority, counts and times by median.",
        default=1,
        min=1,
        metavar="N",
    )
    script: str | None = option(
        "Name of the program in the baseline and in budgets.",
        show_default="its path in the repository",
    )
    tpu_check: list[str] = repeated(
        "Also compile the program's graphs for a TPU, such as v5e or v5e:2x2, as xladoctor"
        " tpu-check does. May be repeated.",
        metavar="TPU",
    )
    tpu_python: Path | None = option("The interpreter with the TPU's compiler.", metavar="FILE")

    def outputs(self) -> list[Destination]:
        """Where the run directory of each run goes."""
        if self.output is None or self.runs == 1:
            return [Destination(self.output) for _ in range(self.runs)]
        base = self.output.rstrip("/")
        return [Destination(f"{base}-{number}") for number in range(1, self.runs + 1)]

    def refuse_without_command(self) -> None:
        """Say that an option needs a command."""
        given = {
            "--runs": self.runs > 1,
            "--output": self.output,
            "--stop-after": self.stop_after,
            "--timeout": self.timeout,
            "--tpu-check": self.tpu_check,
        }
        if needless := [option for option, value in given.items() if value]:
            raise typer.BadParameter(
                "only valid with a command: -- python train.py", param_hint=needless[0]
            )


@dataclass(frozen=True)
class WriteOptions:
    """What is written besides the reports."""

    update_baseline: bool = flag("Write the current findings to the baseline.")
    suggests: bool = flag(
        "Add patches to reports; to SARIF (which GitHub shows) only safe ones.", "--suggest"
    )
    adds_ignores: AddIgnoresOption = False


@grouped
def gate(
    *,
    arguments: list[str] | None = argument(
        "A run as for analyze (default: last, the newest), or a command to run and judge.",
        default=None,
        metavar="[RUN | -- COMMAND...]",
    ),
    judging: JudgingOptions,
    command: CommandOptions,
    config: ConfigOptions,
    writing: WriteOptions,
    report: ReportOptions,
    quiet: QuietOption = False,
) -> None:
    """Judge a program before it is merged, by counts, not times.

    Counts decide (compilations after warm-up; reads, fallbacks and barriers per step): they are the
    same on the CPU device and on an accelerator. Exit status: 0 passed; 1 a finding or budget
    failed; 2 the program failed, or a file cannot be read; 3 a rule or budget that was asked for
    could not be judged.
    """
    from xladoctor.recording import launcher

    outputs = report.outputs()
    with launcher.signals_kept():  # libraries start threads when they are imported
        from xladoctor.gate.programs import programs

        configuration = judging.configured(config)
        policy = policy_of(configuration, _named(judging.baseline, new=writing.update_baseline))
    words, shown = arguments or [], replace(extras(outputs), patches=writing.suggests)
    runs: Iterable[Sequence[Examination]]
    if after_dashes(words) and words:
        runs = _started(words, command, configuration, quiet=quiet, shown=shown)
    else:
        command.refuse_without_command()
        runs = [[_of_directory(words, configuration, shown)]]
    diagnoses, examined = _diagnosed(runs, writing)
    judged = programs(diagnoses, command.script)
    if writing.update_baseline:
        _update_baseline(policy, judged, report, outputs)
        status = 0
    else:
        status = delivered(decided(policy, judged), outputs, report.color, quiet=quiet)
    report.say_timings()
    if writing.adds_ignores:
        final = [program.diagnosis for program in judged]
        add_ignores([replace(examined[each.run.path], diagnosis=each) for each in final])
    raise SystemExit(status)


def _diagnosed(
    runs: Iterable[Sequence[Examination]], writing: WriteOptions
) -> tuple[list[list[Diagnosis]], dict[str, Examination]]:
    """The diagnoses of each run; by path, the examinations whose evidence is needed later."""
    from xladoctor.recording import launcher

    diagnoses: list[list[Diagnosis]] = []
    kept: dict[str, Examination] = {}
    for run in runs:
        with launcher.signals_kept():
            diagnoses.append([each.diagnosis for each in run])
        if writing.adds_ignores:
            kept |= {each.diagnosis.run.path: each for each in run}
    return diagnoses, kept


def _named(baseline: str | None, *, new: bool) -> Path | None:
    """The file that ``--baseline`` names: without it, every finding would look new."""
    from xladoctor.gate.interface import GateError

    if baseline and not new and not Path(baseline).exists():
        raise GateError(f"{baseline}: no such baseline", "create it with --update-baseline")
    return Path(baseline) if baseline else None


def _started(
    words: Sequence[str],
    command: CommandOptions,
    configuration: Configured,
    *,
    quiet: bool,
    shown: Extras,
) -> Iterator[list[Examination]]:
    """The runs to judge: those of second starts, if a budget is about them."""
    from xladoctor.cli.second_start import fresh_cache, say_why
    from xladoctor.gate.budgets import asks_for_second_start

    if not asks_for_second_start(configuration.settings.gate):
        yield from _runs(words, command, configuration, quiet=quiet, shown=shown)
        return
    with fresh_cache():
        filled = _run_once(words, command, Destination(None), quiet=quiet)
        for examined in _runs(words, command, configuration, quiet=quiet, shown=shown):
            say_why(filled, examined)
            yield examined


def _runs(
    words: Sequence[str],
    command: CommandOptions,
    configuration: Configured,
    *,
    quiet: bool,
    shown: Extras,
) -> Iterator[list[Examination]]:
    """Run the command under capture, as often as asked; one that fails is not judged."""
    from xladoctor.recording import launcher
    from xladoctor.report.run_files import write_tpu_check

    selection = doctor.selection(configuration)
    on = command.tpu_check
    compiling = CompilingOptions(command.tpu_python).request(on) if on else None
    for output in command.outputs():
        outcome = _run_once(words, command, output, quiet=quiet)
        with launcher.signals_kept():
            if compiling is not None:
                for run in outcome.runs:
                    write_tpu_check(run.tpu_check, checked_on_tpus(run.path, compiling))
                    end_if_interrupted()
            made = doctor.examine_outcome(outcome, selection, extras=shown)
            examined = list(made)
            output.finish(directory_of(outcome), quiet=quiet)
        yield examined


def _run_once(
    words: Sequence[str], command: CommandOptions, output: Destination, *, quiet: bool
) -> RunOutcome:
    """Run the command. Raises GateError if it fails, or reaches a limit."""
    from xladoctor import hang
    from xladoctor.gate.interface import GateError
    from xladoctor.recording import launcher, progress
    from xladoctor.recording.bootstrap._xladoctor.options import Options

    program = _with_python(tuple(words))
    request = command.request(program, output.folder, Options(), own_command=True)
    observer = output.observer(progress.observer(quiet), request)
    outcome = launcher.run(request, observer, hang.end)
    output.finish(directory_of(outcome), quiet=quiet or not outcome.status)
    sys.stdout.flush()
    if outcome.status or outcome.limit:
        raise GateError(
            f"{_ended(outcome)}: not judged{_where_it_stood(outcome)}",
            f"to see what was captured: xladoctor analyze {_place(outcome.runs[0].path)}",
        )
    return outcome


def _ended(outcome: RunOutcome) -> str:
    """How a command ended that cannot be judged."""
    if seconds := outcome.limit.get("timeout_s"):
        return f"stopped by --timeout after {duration(seconds)}"
    if seconds := outcome.limit.get("stop_after_s"):
        return f"ended, as no step ended in time after --stop-after {duration(seconds)}"
    return f"the command ended with status {outcome.status}"


def _where_it_stood(outcome: RunOutcome) -> str:
    """The files with the stacks of a command that took too long."""
    from xladoctor.recording.interface import RunDirectory

    files = RunDirectory(directory_of(outcome)).stacks()
    if not files:
        return ""
    shown = _place(files[0]) if len(files) == 1 else f"{_place(files[0].parent)}/stacks-*.txt"
    return f"; where its threads stood: {shown}"


def _place(path: Path) -> str:
    return quoted(str(from_here(path)))


def _with_python(command: tuple[str, ...]) -> tuple[str, ...]:
    """A script is run by this interpreter, as by ``xladoctor run``."""
    is_script = command[0].endswith(".py") and not os.access(command[0], os.X_OK)
    return (sys.executable, *command) if is_script else command


def _of_directory(words: Sequence[str], configuration: Configured, shown: Extras) -> Examination:
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
            extras=shown,
        )


def _update_baseline(
    policy: Policy, judged: Sequence[Program], report: ReportOptions, outputs: Sequence[Output]
) -> None:
    """Write the current findings to the baseline, and reports if formats are named."""
    policy = policy.updated(judged)
    reports = decided(policy, judged)
    emit(_written(policy, judged, reports))
    if report.formats:
        deliver(reports, outputs, report.color)


def _written(policy: Policy, judged: Sequence[Program], reports: Sequence[Report]) -> str:
    from xladoctor.report.gate import not_in_baseline

    scripts = policy.baseline.scripts
    counts = {program.entry: len(scripts[program.entry].findings) for program in judged}
    lines = [f"  {clean(name)}: {counted(count, 'finding')}\n" for name, count in counts.items()]
    lines += [
        f"{clean(line)}\n"
        for report in reports
        if report.outcome
        for line in not_in_baseline(report.outcome)
    ]
    return f"wrote {clean(str(policy.path))}\n{''.join(lines)}"
