"""``xladoctor tpu-check``: what the compiler of TPUs decides about graphs, without a TPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
from xladoctor.quantities import binary_size, counted, duration, parse_duration
from xladoctor.report.output import say

if TYPE_CHECKING:
    from xladoctor.facts.records import TpuCheckFile
    from xladoctor.tpu_check.check import Request
    from xladoctor.tpu_check.compiler.interpreter import Compiler
    from xladoctor.tpu_check.compiler.run import Progress

DOES_NOT_FIT, NO_VERDICT = 1, 2
_EVERY_S = 10


@dataclass(frozen=True)
class CompilingOptions:
    """The compiler, how much it may take, and what is kept."""

    python: Path | None = option(
        'The interpreter with the compiler: pip install "jax[tpu]", which Google licenses'
        " for use with Google Cloud.",
        metavar="FILE",
    )
    jax: str | None = option(
        "The job's release of JAX: makes an environment with the libtpu that it pins, in the user's"
        " cache folder, unless there is one. With --python, says that FILE has it.",
        metavar="VERSION",
    )
    yes: bool = flag("Install what --jax needs without asking.")
    timeout: str | None = option(
        "Time limit for one graph; by default 10 minutes, and more for large ones.", metavar="TIME"
    )
    whole: bool = flag(
        "Also let the compiler generate machine code, which takes minutes: some kernels fail only"
        " there."
    )
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

        seconds = None if self.timeout is None else parse_duration(self.timeout)
        limits = Limits(seconds=seconds, whole=self.whole)
        topologies = [parse_topology(name) for name in on]
        return Request(topologies, self._compiler(), limits, self.most)

    def _compiler(self) -> Compiler:
        from xladoctor.tpu_check.compiler import environments, interpreter

        if self.python is None:
            if self.jax is None:
                return environments.usual()
            return environments.of_release(self.jax, self._agrees, say)
        compiler = interpreter.find_compiler(self.python)
        if self.jax is None:
            return compiler
        if (has := compiler.versions["jax"]) != self.jax:
            raise typer.BadParameter(f"{self.python} has JAX {has}", param_hint="--jax")
        return replace(compiler, stated=True)

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
    no compiler, a graph that cannot be compiled, or one so near the limit that another release of
    the compiler may decide otherwise. With --vary: 0 if a value fits, 1 if none does.
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
    return NO_VERDICT if {"refused", "unknown"}.intersection(verdicts) else 0


def checked_on_tpus(path: Path, request: Request) -> TpuCheckFile:
    """What the compiler decides about the graphs in a path; says how far it is.

    Raises:
        XladoctorError: there is no graph, or what was found cannot be kept.
    """
    from xladoctor.tpu_check.check import check

    with telling() as tell:
        checked, notes = check(path, request, tell)
    for note in notes:
        say(f"note: {note}")
    return checked


@contextmanager
def telling() -> Iterator[Callable[[Progress], None]]:
    """Says how far it is: in one line of a terminal, else in a line every ten seconds."""
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from rich.console import Console
        from rich.text import Text

        with Console(file=sys.__stderr__).status("xladoctor: starting") as status:
            yield lambda progress: status.update(
                Text(f"xladoctor: {_far(progress)}", no_wrap=True, overflow="ellipsis")
            )
        return
    said = 0.0

    def tell(progress: Progress) -> None:
        nonlocal said
        if progress.seconds < said:  # of another graph, or phase
            said = 0.0
        if progress.seconds - said >= _EVERY_S:
            said = progress.seconds
            say(_far(progress))

    yield tell


def _far(progress: Progress) -> str:
    """How far it is, in words."""
    since = f"{progress.seconds:.0f} s"
    if progress.phase == "waiting":
        return f"waiting for another process that compiles, {since}"
    if progress.phase == "starting":
        return f"starting the compiler for {progress.topology}, {since}"
    if progress.phase == "reading":
        return f"reading {progress.name}, {since}"
    loops = f", {counted(progress.loops, 'loop')}" if progress.loops else ""
    text = (
        f"compiling {progress.name} for {progress.topology}, {since} of at most"
        f" {duration(progress.limit)}; {progress.operations or 0:,} operations{loops}"
    )
    if progress.least is None:
        return text
    least, available = binary_size(progress.least.bytes), binary_size(progress.available)
    return f"{text}, at least {least} of {available}"
