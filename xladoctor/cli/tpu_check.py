"""``xladoctor tpu-check``: what the compiler of TPUs decides about graphs, without a TPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from xladoctor import doctor
from xladoctor.cli.configured import ConfigOptions
from xladoctor.cli.destination import refuse_url
from xladoctor.cli.groups import REQUIRED, argument, flag, grouped, option
from xladoctor.cli.output import ReportOptions, draws
from xladoctor.quantities import parse_duration
from xladoctor.report.output import say

if TYPE_CHECKING:
    from xladoctor.facts.records import TpuCheckFile
    from xladoctor.tpu_check.check import Request
    from xladoctor.tpu_check.compiler.interpreter import Compiler
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
    jax: str | None = option(
        "Compile as this release of JAX does: makes an environment with the libtpu that it pins,"
        " in the user's cache folder, unless there is one.",
        metavar="VERSION",
    )
    yes: bool = flag("Install what --jax needs without asking.")
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
        from xladoctor.tpu_check.compiler.run import Limits
        from xladoctor.tpu_check.compiler.topology import parse_topology

        limits = Limits(seconds=parse_duration(self.timeout))
        topologies = [parse_topology(name) for name in on]
        return Request(topologies, self._compiler(), limits, self.most)

    def _compiler(self) -> Compiler:
        from xladoctor.tpu_check.compiler import environments, interpreter

        if self.jax and self.python:
            raise typer.BadParameter("--jax names the interpreter, too", param_hint="--python")
        if self.jax:
            return environments.of_release(self.jax, self._agrees, say)
        if self.python:
            return replace(interpreter.find_compiler(self.python), stated=True)
        return environments.usual()

    def _agrees(self, what: str) -> bool:
        """Whether the user agrees to an installation.

        Raises:
            NoCompilerError: nobody can be asked.
        """
        from xladoctor.tpu_check.compiler.interpreter import NoCompilerError

        if self.yes:
            return True
        if not sys.stdin.isatty():
            again = f"to agree: xladoctor tpu-check … --jax {self.jax} --yes"
            raise NoCompilerError(what, again)
        return typer.confirm(f"{what} Install it?", err=True)


@grouped
def tpu_check(
    *,
    path: str = argument(
        "A run: its directory, last, last~1 or a script's name. Or an unoptimized graph, or"
        " a folder of them: StableHLO (.mlir), or what jax.export, JAX_DUMP_IR_TO=DIR,"
        " XLA_FLAGS=--xla_dump_to=DIR or TorchTPU's TORCH_TRACE=DIR writes.",
        metavar="RUN",
    ),
    on: list[str] = option(
        "What to compile for: v5e, or a slice: v5e:2x2, v6e:4x4, v5p:2x2x1. May be repeated.",
        default=REQUIRED,
        metavar="TPU",
    ),
    compiling: CompilingOptions,
    config: ConfigOptions,
    report: ReportOptions,
) -> None:
    """Compile graphs for a TPU, and say what the compiler decides.

    No TPU is needed. It says whether a graph fits into the memory of a device, how much of what it
    writes is padding of tiles, and what it copies, by line. It says nothing about time. Preview:
    output and options may change. Exit status: 0 all fit, 1 one does not, 2 no verdict: no graph,
    no compiler, a graph that cannot be compiled, or one so near the limit that another release of
    the compiler may decide otherwise.
    """
    from xladoctor.evidence.runs import locate
    from xladoctor.report.run_files import write_tpu_check

    refuse_url(path, "tpu-check reads graphs of this machine")
    outputs, chosen = report.outputs(), config.selection()
    request = compiling.request(on)
    path = locate(path)
    checked = checked_on_tpus(Path(path), request)
    if compiling.keep is not None:
        write_tpu_check(compiling.keep, checked)
    diagnosis = doctor.examine_tpu_check(checked, path, chosen, pictures=draws(outputs))
    report.deliver(diagnosis, outputs)
    raise typer.Exit(_status([graph.verdict for graph in checked.graphs]))


def _status(verdicts: Collection[str]) -> int:
    if "does_not_fit" in verdicts:
        return DOES_NOT_FIT
    return NO_VERDICT if {"refused", "unknown"}.intersection(verdicts) else 0


def checked_on_tpus(path: Path, request: Request) -> TpuCheckFile:
    """What the compiler decides about the graphs in a path; says how far it is.

    Raises:
        XladoctorError: there is no graph, or what was found cannot be kept.
    """
    from xladoctor.tpu_check.check import check

    checked, notes = check(path, request, _teller())
    for note in notes:
        say(f"note: {note}")
    return checked


def _teller() -> Callable[[Progress], None]:
    """Says how far it is, every ten seconds."""
    said = 0.0

    def tell(progress: Progress) -> None:
        nonlocal said
        if progress.seconds - said < 10:
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
