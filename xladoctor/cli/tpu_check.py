"""``xladoctor tpu-check``: what the compiler of TPUs decides about graphs, without a TPU."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions
from xladoctor.cli.destination import refuse_url
from xladoctor.cli.groups import REQUIRED, argument, flag, grouped, option, repeated
from xladoctor.cli.output import ReportOptions, draws
from xladoctor.cli.request import after_dashes
from xladoctor.foreign import quoted
from xladoctor.quantities import parse_duration
from xladoctor.report.output import say

if TYPE_CHECKING:
    from xladoctor.facts.records import TpuCheckFile
    from xladoctor.tpu_check.check import Request
    from xladoctor.tpu_check.compiler.run import Progress

DOES_NOT_FIT, NO_VERDICT = 1, 2


@dataclass(frozen=True)
class CompilingOptions:
    """The compiler, how much it may take, and what is kept."""

    python: Path | None = option(
        'The interpreter with the compiler: pip install "jax[tpu]", which Google licenses'
        " for use with Google Cloud.",
        metavar="FILE",
    )
    timeout: str = option("Time limit for compiling one graph.", default="10m", metavar="TIME")
    most: int = option(
        "Compile at most N graphs: those that matter most in a run, or the largest files.",
        default=4,
        min=1,
        metavar="N",
    )
    keep: Path | None = option(
        "Also write the results to FILE, for analyze and compare.", metavar="FILE"
    )

    def request(self, on: Sequence[str]) -> Request:
        """What to compile for, and with what.

        Args:
            on: names of TPUs.

        Raises:
            XladoctorError: there is no such TPU, or no compiler.
        """
        from xladoctor.tpu_check.check import Request
        from xladoctor.tpu_check.compiler.interpreter import find_compiler
        from xladoctor.tpu_check.compiler.run import Limits
        from xladoctor.tpu_check.compiler.topology import parse_topology

        limits = Limits(seconds=parse_duration(self.timeout))
        topologies = [parse_topology(name) for name in on]
        return Request(topologies, find_compiler(self.python), limits, self.most)


@dataclass(frozen=True)
class LoweringOptions:
    """A program that is started to lower its graphs."""

    lower_only: bool = flag(
        "Start the command after --, and lower what it computes, until its step is known: nothing"
        " heavy is compiled for this machine or executed. For JAX."
    )
    vary: list[str] = repeated(
        "Find the largest value with which it fits: batch_size=1,2,4,8, or batch_size=1..64. A"
        " second one, such as remat=none,full, gives the largest for each of its values.",
        metavar="NAME=VALUES",
    )

    def refuse_or_lower(self, arguments: Sequence[str]) -> bool:
        """Whether a program is to be started. Raises BadParameter for what does not go together."""
        command = after_dashes(arguments)
        if self.lower_only and not command:
            hint = f"put -- before the command: --lower-only -- {quoted(*arguments)}"
            raise typer.BadParameter(hint, param_hint="RUN")
        if not self.lower_only and (command or self.vary):
            what = "a command" if command else "--vary"
            raise typer.BadParameter(f"{what} needs --lower-only", param_hint="RUN")
        if not self.lower_only and len(arguments) > 1:
            raise typer.BadParameter(f"expected one run: {quoted(*arguments)}", param_hint="RUN")
        return self.lower_only


@grouped
def tpu_check(
    *,
    arguments: list[str] = argument(
        "A run: its directory, last, last~1 or a script's name. Or an unoptimized graph, or"
        " a folder of them: StableHLO (.mlir), or what jax.export, JAX_DUMP_IR_TO=DIR,"
        " XLA_FLAGS=--xla_dump_to=DIR or TorchTPU's TORCH_TRACE=DIR writes. With --lower-only:"
        " -- and a command.",
        metavar="RUN",
    ),
    on: list[str] = option(
        "What to compile for: v5e, or a slice: v5e:2x2, v6e:4x4, v5p:2x2x1. May be repeated.",
        default=REQUIRED,
        metavar="TPU",
    ),
    compiling: CompilingOptions,
    lowering: LoweringOptions,
    config: ConfigOptions,
    report: ReportOptions,
) -> None:
    """Compile graphs for a TPU, and say what the compiler decides.

    No TPU is needed. It says whether a graph fits into the memory of a device, how much of what it
    writes is padding of tiles, and what it copies, by line. It says nothing about time. Preview:
    output and options may change. Exit status: 0 all fit, 1 one does not, 2 no verdict: no graph,
    no compiler, or a graph that cannot be compiled. With --vary: 0 if a value fits, 1 if none does.
    """
    from xladoctor.evidence.runs import locate
    from xladoctor.report.run_files import write_tpu_check

    if lowering.refuse_or_lower(arguments):
        from xladoctor.cli.lower_only import lower_only

        raise typer.Exit(lower_only(arguments, on, compiling, lowering, config, report))
    path = arguments[0]
    refuse_url(path, "tpu-check reads graphs of this machine")
    outputs, chosen = report.outputs(), config.selection()
    request = compiling.request(on)
    path = locate(path)
    checked = checked_on_tpus(Path(path), request)
    if compiling.keep is not None:
        write_tpu_check(compiling.keep, checked)
    diagnosis = doctor.examine_tpu_check(checked, path, chosen, pictures=draws(outputs))
    report.deliver(diagnosis, outputs)
    raise typer.Exit(status_of([graph.verdict for graph in checked.graphs]))


def status_of(verdicts: Collection[str]) -> int:
    """The exit status for the verdicts on graphs."""
    if "does_not_fit" in verdicts:
        return DOES_NOT_FIT
    return NO_VERDICT if "refused" in verdicts else 0


def checked_on_tpus(path: Path, request: Request) -> TpuCheckFile:
    """What the compiler decides about the graphs in a path; says how far it is.

    Raises:
        XladoctorError: there is no graph, or what was found cannot be kept.
    """
    from xladoctor.tpu_check.check import check

    checked, notes = check(path, request, teller())
    for note in notes:
        say(f"note: {note}")
    return checked


def teller() -> Callable[[Progress], None]:
    """Says how far it is, every ten seconds of each graph."""
    said = 0.0

    def tell(progress: Progress) -> None:
        nonlocal said
        if 0 <= progress.seconds - said < 10:  # the next graph begins at 0 again
            return
        said = progress.seconds
        if progress.phase == "waiting":
            say(f"waiting for another process that compiles, {said:.0f} s")
        elif progress.operations:
            say(
                f"compiling {progress.operations:,} operations for {progress.topology},"
                f" {said:.0f} s; a layer of a transformer takes about 15 s of processor time"
            )

    return tell
