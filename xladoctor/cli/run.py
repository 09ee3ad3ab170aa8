"""``xladoctor run``: the program under capture, then its diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from xladoctor import doctor
from xladoctor.cli.boundary import OWN_FAULT, go_on_in_copy, report_error
from xladoctor.cli.configured import ConfigOptions, configured
from xladoctor.cli.destination import Destination, directory_of
from xladoctor.cli.groups import argument, flag, grouped, option
from xladoctor.cli.judging import decided, delivered, policy_of
from xladoctor.cli.output import ReportOptions, RunReportOptions, add_ignores, extras
from xladoctor.cli.request import ProgramOptions, after_dashes
from xladoctor.errors import XladoctorError
from xladoctor.foreign import quoted
from xladoctor.quantities import parse_duration, parse_size
from xladoctor.report.output import Color, Format, Output, deliver
from xladoctor.repository import from_here

if TYPE_CHECKING:
    from xladoctor.cli.meanwhile import Meanwhile
    from xladoctor.configuration.interface import Configured
    from xladoctor.diagnosis.examination import Examination
    from xladoctor.diagnosis.interface import Diagnosis
    from xladoctor.gate.programs import Policy
    from xladoctor.recording.bootstrap._xladoctor.options import Options
    from xladoctor.recording.interface import RunOutcome, RunRequest
    from xladoctor.report.interface import Report


@dataclass(frozen=True)
class LaunchOptions(ProgramOptions):
    """How the program is run."""

    module: bool = flag("Run a module, like python -m: -m MODULE [ARGS]...", "-m")
    report_every: str | None = option(
        "Write a report on the program so far to report.txt in the run directory, at this"
        " interval (10m, 1h).",
        metavar="TIME",
    )
    gate: bool = flag(
        "Judge the run as `xladoctor gate` does. If the program succeeds, the exit status"
        " is the gate's."
    )

    @property
    def report_every_s(self) -> float:
        """Seconds between two reports; 0 for none."""
        return parse_duration(self.report_every) if self.report_every else 0.0

    def program(self, words: list[str], folder: Path | None, options: Options) -> RunRequest:
        """The program to run, into that run directory."""
        own = not self.module and after_dashes(words)
        return self.request(words, folder, options, module=self.module, own_command=own)


@dataclass(frozen=True)
class TimelineOptions:
    """What of the program is recorded in detail."""

    section: ClassVar[str] = "Timeline"

    trace_steps: int = option(
        "Number of steps in the timeline; 0 for no timeline.", default=60, min=0, metavar="N"
    )
    trace_after: int | None = option(
        "Steps to skip before the timeline begins; 0 starts immediately.",
        min=0,
        metavar="N",
        show_default="once the loop is steady",
    )
    trace_seconds: float = option(
        "Maximum length of the timeline in seconds, excluding compiling and waiting (hard"
        " limit: four times this).",
        default=15.0,
        min=0.1,
        metavar="SECONDS",
    )
    trace_bytes: str = option(
        "Approximate size limit of the timeline file, such as 100M or 2G.",
        default="100M",
        metavar="SIZE",
    )
    graph_bytes: str = option(
        "Size limit of the graphs that are kept for `xladoctor tpu-check`; 0 for none.",
        default="20M",
        metavar="SIZE",
    )

    def options(self) -> Options:
        """These options, as the capture takes them."""
        from xladoctor.recording.bootstrap._xladoctor.options import Options

        return Options(
            trace_steps=self.trace_steps,
            trace_after=self.trace_after,
            trace_seconds=self.trace_seconds,
            trace_bytes=parse_size(self.trace_bytes),
            graph_bytes=parse_size(self.graph_bytes, zero=True),
        )


@grouped
def run(
    *,
    arguments: list[str] | None = argument(
        "The program and its arguments. After `--`: any command, such as `-- torchrun train.py`.",
        default=None,
        metavar="SCRIPT [ARGS]...",
    ),
    launch: LaunchOptions,
    timeline: TimelineOptions,
    report: RunReportOptions,
    config: ConfigOptions,
) -> None:
    """Run a program unchanged, and print what slows it down.

    The program's input, output, arguments and exit status are the same as without xladoctor; the
    report follows on standard output. A step ends at a barrier (torch_xla.sync) in PyTorch/XLA, at
    the call that computes most in each iteration in JAX, and at the optimizer's update in
    torch.compile. Exit status: the program's own; 124 after --timeout;
    2 if the program could not start, or ran nothing on torch_xla, JAX or torch.compile.
    """
    from xladoctor import hang
    from xladoctor.recording import launcher
    from xladoctor.recording.interface import RunDirectory

    outputs = report.outputs()
    with launcher.signals_kept():  # libraries start threads when they are imported
        configuration = configured(config)
        policy = policy_of(configuration) if launch.gate else None
    meanwhile = _meanwhile(configuration, launch.report_every_s, report)
    destination = Destination(launch.output)
    request = launch.program(arguments or [], destination.folder, timeline.options())
    outcome = launcher.run(request, destination.observer(meanwhile, request), hang.end)
    destination.finish(directory_of(outcome), quiet=True)  # before anything else can go wrong
    if launch.report_every_s:
        outputs.append(Output(Format.terminal, RunDirectory(meanwhile.directory).report))
    go_on_in_copy(outcome.status or OWN_FAULT * launch.gate, _how_to_analyze(outcome))
    try:
        status = _reported(outcome, configuration, policy, report, outputs, destination)
    except Exception as error:  # whatever it is, the program's status outlives it
        status = report_error(error)
        if status == OWN_FAULT and not launch.gate:
            status = 0
    raise SystemExit(outcome.status or status)


def _meanwhile(configuration: Configured, every_s: float, report: RunReportOptions) -> Meanwhile:
    """What is done while the program runs; ``every_s`` between two reports, 0 for none."""
    from xladoctor.cli.meanwhile import Meanwhile
    from xladoctor.recording import progress

    return Meanwhile(
        progress.observer(report.quiet),
        (lambda: doctor.selection(configuration),),
        partial(_report_so_far, configuration, report.total_steps) if every_s else None,
        every_s,
    )


def _how_to_analyze(outcome: RunOutcome) -> str:
    places = (quoted(str(from_here(run.path))) for run in outcome.runs)
    return "\n".join(f"try: xladoctor analyze {place}" for place in places)


def _reported(
    outcome: RunOutcome,
    configuration: Configured,
    policy: Policy | None,
    report: RunReportOptions,
    outputs: Sequence[Output],
    destination: Destination,
) -> int:
    """Diagnose what was captured, report and keep it; returns the exit status."""
    selection, directory = doctor.selection(configuration), directory_of(outcome)
    made = doctor.examine_outcome(outcome, selection, report.total_steps, extras(outputs))
    examined: list[Examination] = []
    diagnoses = (_diagnosis(each, examined if report.adds_ignores else None) for each in made)
    reports = _judged(diagnoses, None if outcome.status else policy, report, outputs)
    status = delivered(reports, outputs, report.color, quiet=report.quiet)
    report.say_timings()
    if report.adds_ignores:
        add_ignores(examined)
    destination.finish(directory, quiet=report.quiet)
    if not report.quiet:
        destination.say_pod(directory)
    return status


def _report_so_far(configuration: Configured, total_steps: int | None, directory: Path) -> None:
    """Write a report on a program that still runs, or why there is none."""
    from xladoctor.recording.interface import RunDirectory
    from xladoctor.report.interface import Report
    from xladoctor.whole_files import write_text

    run = RunDirectory(directory)
    try:
        examination = doctor.examine_run(run, doctor.selection(configuration), total_steps)
        deliver([Report(examination.diagnosis)], [Output(Format.terminal, run.report)], Color.never)
    except XladoctorError as error:
        write_text(run.report, f"no report yet: {error.what}\n")


def _diagnosis(examination: Examination, kept: list[Examination] | None) -> Diagnosis:
    """The diagnosis; if there is a list, the evidence is kept in it, too."""
    if kept is not None:
        kept.append(examination)
    return examination.diagnosis


def _judged(
    made: Iterable[Diagnosis],
    policy: Policy | None,
    options: ReportOptions,
    outputs: Sequence[Output],
) -> list[Report]:
    """The report on each program, judged if there is a policy."""
    from xladoctor.gate.programs import programs
    from xladoctor.report.interface import Report

    diagnoses: list[Diagnosis] = []
    try:
        diagnoses.extend(made)
        if policy:
            return decided(policy, programs([diagnoses]))
    except Exception:  # the next program's error must not lose this one's report
        if diagnoses:
            deliver(list(map(Report, diagnoses)), outputs, options.color)
        raise
    return list(map(Report, diagnoses))
