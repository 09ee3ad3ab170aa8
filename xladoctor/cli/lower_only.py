"""``xladoctor tpu-check --lower-only``: graphs of a program that is started to lower them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from xladoctor import doctor
from xladoctor.cli.output import draws, temporary_folder
from xladoctor.cli.tpu_check import (
    DOES_NOT_FIT,
    NO_VERDICT,
    CompilingOptions,
    LoweringOptions,
    status_of,
    telling,
)
from xladoctor.report.output import Format, say, write_each

if TYPE_CHECKING:
    from xladoctor.cli.configured import ConfigOptions
    from xladoctor.cli.output import ReportOptions
    from xladoctor.recording.interface import RunOutcome, RunRequest
    from xladoctor.report.interface import Style
    from xladoctor.tpu_check.check import Request
    from xladoctor.tpu_check.ladder.climb import Ladder
    from xladoctor.tpu_check.ladder.lower import Lowered, Lowering
    from xladoctor.tpu_check.ladder.vary import Program

_LOWERING_S = 600.0  # for a program, unless a limit is given


def lower_only(
    words: Sequence[str],
    on: Sequence[str],
    compiling: CompilingOptions,
    lowering: LoweringOptions,
    config: ConfigOptions,
    report: ReportOptions,
) -> int:
    """Lower a program, with one value or with several, and compile what it lowered.

    Returns:
        The exit status of the command.

    Raises:
        XladoctorError: there is no compiler, or nothing was lowered.
    """
    from xladoctor.report.run_files import write_tpu_check
    from xladoctor.tpu_check.check import check_graphs
    from xladoctor.tpu_check.ladder.lower import Lowering
    from xladoctor.tpu_check.ladder.vary import program

    formats = (Format.terminal, Format.json) if lowering.vary else tuple(Format)
    outputs = report.outputs(formats)
    request, chosen = compiling.request(on), config.selection()
    with temporary_folder() as folder:
        most = 1 if lowering.vary else request.most
        how = Lowering(
            request.topologies, Path(folder), request.limits.seconds or _LOWERING_S, _start, most
        )
        started = program(words)
        if lowering.vary:
            ladders = [*_ladders(started, lowering.vary, how, request)]
            write_each(outputs, report.color, lambda *to: _write(ladders, *to))
            fitting = [each.largest for each in ladders if each.largest]
            if compiling.keep is not None and fitting:
                write_tpu_check(compiling.keep, fitting[-1].checked)
            return _status(ladders)
        lowered = _lowered(how, started)
        with telling() as tell:
            checked = check_graphs(lowered.found, request, tell)
        if compiling.keep is not None:
            write_tpu_check(compiling.keep, checked)
        drawn = draws(outputs)
        diagnosis = doctor.examine_tpu_check(checked, started.script, chosen, pictures=drawn)
        report.deliver(diagnosis, outputs)
        return status_of([graph.verdict for graph in checked.graphs])


def _ladders(
    started: Program, varied: Sequence[str], how: Lowering, request: Request
) -> Iterator[Ladder]:
    """A ladder; if a second value is varied, one for each of its values."""
    from xladoctor.tpu_check.ladder.climb import climb
    from xladoctor.tpu_check.ladder.vary import parse, way_of

    if len(varied) > 2 or len(request.topologies) > 1:
        raise typer.BadParameter(
            "expected at most two values to vary, for one TPU", param_hint="--vary"
        )
    variation, *others = map(parse, varied)
    way = way_of(started, variation.name)
    programs = {"": started}
    for other in others:
        reaches = way_of(started, other.name)
        programs = {
            f"{other.name}={value}": started.given(reaches, other.name, value)
            for value in other.values
        }
    for beside, program in programs.items():

        def lower(value: str, program: Program = program, beside: str = beside) -> Lowered:
            say(" ".join(["lowering with", f"{variation.name}={value}", beside]).strip())
            return _lowered(how, program.given(way, variation.name, value))

        with telling() as tell:
            yield climb(variation, way, lower, request, tell, beside)


def _lowered(how: Lowering, program: Program) -> Lowered:
    lowered = how.lower(program)
    for note in filter(None, [*lowered.found.notes, lowered.failed]):
        say(f"note: {note}")
    return lowered


def _start(request: RunRequest) -> RunOutcome:
    from xladoctor import hang
    from xladoctor.recording import launcher, progress

    return launcher.run(request, progress.Silence(), hang.end)


def _write(ladders: Sequence[Ladder], form: Format, output: TextIO, style: Style) -> None:
    from xladoctor.report import ladder

    (ladder.render_json if form is Format.json else ladder.render)(ladders, output, style)


def _status(ladders: Sequence[Ladder]) -> int:
    if any(each.largest for each in ladders):
        return 0
    verdicts = {rung.graph.verdict for each in ladders for rung in each.rungs}
    return DOES_NOT_FIT if "does_not_fit" in verdicts else NO_VERDICT
