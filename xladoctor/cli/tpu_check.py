"""``xladoctor tpu-check``: what the compiler of TPUs decides about graphs, without a TPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xladoctor.quantities import parse_duration
from xladoctor.report.output import emit, say

if TYPE_CHECKING:
    from xladoctor.tpu_check.compiler.run import Progress

DOES_NOT_FIT, NO_VERDICT = 1, 2


def tpu_check(
    path: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="A run: last, last~1, a script's name, or its directory. Or a graph before"
            " optimization, or a folder with some: StableHLO (.mlir), what"
            " jax.export serializes, what JAX_DUMP_IR_TO=DIR or XLA_FLAGS=--xla_dump_to=DIR leave,"
            " or the folder of TORCH_TRACE=DIR of TorchTPU.",
        ),
    ],
    on: Annotated[
        list[str],
        typer.Option(
            "--on",
            metavar="TPU",
            help="What to compile for: v5e, or a slice: v5e:2x2, v6e:4x4, v5p:2x2x1. Several times"
            " for several.",
        ),
    ],
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='The interpreter with the compiler: pip install "jax[tpu]", which Google licenses'
            " for use with Google Cloud.",
        ),
    ] = None,
    timeout: Annotated[
        str, typer.Option(metavar="TIME", help="The most that compiling one graph may take.")
    ] = "10m",
    most: Annotated[
        int, typer.Option(min=1, metavar="N", help="Compile the N largest graphs.")
    ] = 4,
) -> None:
    """Compile graphs for a TPU, and say what the compiler decides. No TPU is needed.

    It says whether a graph fits into the memory of a device, how much of what it writes is padding
    of tiles, and what it copies, by line. It says nothing about time. Preview: output and options
    may change. Exit status: 0 all fit, 1 one does not, 2 there is no verdict: no graph, no
    compiler, or a graph that cannot be compiled.
    """
    from xladoctor.evidence.runs import is_run, locate
    from xladoctor.tpu_check.check import check
    from xladoctor.tpu_check.compiler.interpreter import find_compiler
    from xladoctor.tpu_check.compiler.outcome import DoesNotFit, Refused
    from xladoctor.tpu_check.compiler.run import Limits
    from xladoctor.tpu_check.compiler.topology import parse_topology
    from xladoctor.tpu_check.graphs import find_graphs
    from xladoctor.tpu_check.kept import kept_graphs
    from xladoctor.tpu_check.text import text_of

    limits = Limits(seconds=parse_duration(timeout))
    topologies = [parse_topology(name) for name in on]
    compiler = find_compiler(python)
    place = locate(path)
    found = kept_graphs(place, most) if is_run(Path(place)) else find_graphs(Path(place), most)
    for note in found.notes:
        say(f"note: {note}")
    if found.left_out:
        say(f"note: {len(found.left_out)} smaller graphs were left out (--most)")
    checked = [
        check(graph, topology, compiler, limits, _teller())
        for topology in topologies
        for graph in found.graphs
    ]
    emit(text_of(checked))
    if any(isinstance(each.outcome, DoesNotFit) for each in checked):
        raise typer.Exit(DOES_NOT_FIT)
    if any(isinstance(each.outcome, Refused) for each in checked):
        raise typer.Exit(NO_VERDICT)


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
                f" {said:.0f} s; a layer of a transformer takes some 15 s of processor time"
            )

    return tell
