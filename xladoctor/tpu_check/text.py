"""What the TPU compiler decided about graphs, as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xladoctor.quantities import duration, percent
from xladoctor.tpu_check.compiler.outcome import Compiled, DoesNotFit, Memory, Outcome, Refused
from xladoctor.tpu_check.graphs import Graph
from xladoctor.tpu_check.summary import Line, Summary
from xladoctor.tpu_check.written import Written

_WIDTH = 80
_MOST_LINES = 3
_LEAST = 0.01  # of what the lines have in all; less is not shown
_TRANSFERS = ("copy-done", "slice-done")
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
#: Said once, below everything.
HONESTY = (
    "This is what the compiler decided, not how fast it runs: no TPU was there, and none was"
    " compared with."
)


@dataclass(frozen=True)
class Checked:
    """A graph and what came of it.

    Attributes:
        topology: as it was asked for.
        summary: of the executable, if there is one.
    """

    graph: Graph
    topology: str
    outcome: Outcome
    summary: Summary | None = None


def text_of(checked: Sequence[Checked]) -> str:
    """All graphs, one after the other, in lines of at most 80 columns where names allow it."""
    parts = ["\n".join(_of(each)) for each in checked]
    if any(not isinstance(each.outcome, Refused) for each in checked):
        parts.append(_wrapped(HONESTY, ""))
    return "\n\n".join(parts) + "\n"


def _of(checked: Checked) -> Iterator[str]:
    graph, outcome = checked.graph, checked.outcome
    name = f"{graph.name} ({graph.source.name})" if graph.name else graph.source.name
    if isinstance(outcome, Refused):
        yield _wrapped(f"{name}, for {checked.topology}: not compiled", "")
        yield _wrapped(f"{outcome.what}.", "  ")
        if outcome.hint:
            yield _wrapped(outcome.hint, "  ")
        return
    verdict = "fits" if isinstance(outcome, Compiled) else "does not fit"
    yield _wrapped(f"{name}, for {outcome.topology}: {verdict}", "")
    took = f"compiled in {duration(outcome.seconds)}" + (" earlier" if outcome.cached else "")
    versions = ", ".join(f"{package} {version}" for package, version in outcome.versions.items())
    yield _wrapped(f"{outcome.operations:,} operations, {took}; {versions}", "  ")
    if isinstance(outcome, DoesNotFit):
        yield _wrapped(_too_much(outcome), "  ")
        return
    yield _wrapped(_memory(outcome.memory), "  ")
    if checked.summary is not None:
        yield from _summary(checked.summary)


def _too_much(outcome: DoesNotFit) -> str:
    has = f", and a device has {_size(outcome.available)}" if outcome.available else ""
    return (
        f"It needs more memory than there is{has}. The verdict is the compiler's; the size that it"
        " names is not proportional to the program's. What helps: a smaller batch,"
        " rematerialization (jax.checkpoint), donated arguments, lower precision, or sharding over"
        " more devices."
    )


def _memory(memory: Memory) -> str:
    parts = [
        f"{_size(size)} of {name}"
        for name, size in (
            ("arguments", memory.arguments),
            ("results", memory.outputs),
            ("temporaries", memory.temporaries),
        )
        if size
    ]
    if memory.aliased:
        parts.append(f"of which {_size(memory.aliased)} are in the place of donated arguments")
    peak = "" if memory.peak is None else f"{_size(memory.peak)} at the peak: "
    return f"memory    {peak}{', '.join(parts)}"


def _summary(summary: Summary) -> Iterator[str]:
    written = _size(summary.bytes + summary.padding)
    share = percent(summary.padding_share)
    yield f"  padding   {share} of the {written} that a run writes fills tiles"
    if summary.padding_share >= 0.01:
        yield from _lines(summary.padded)
    yield f"  copies    {percent(summary.moved_share)} of it are copies, transposes and reshapes"
    if summary.moved_share >= 0.01:
        yield from _lines(summary.moved)
    for kind in summary.collectives:
        beside = f", {kind.asynchronous} of them asynchronous" if kind.asynchronous else ""
        yield f"  devices   {kind.count} {kind.opcode}, {_size(kind.bytes)} a run{beside}"
    if summary.unknown:
        yield f"  {summary.unknown} arrays have layouts that are not understood"


def _lines(lines: Sequence[Line]) -> Iterator[str]:
    least = _LEAST * sum(line.bytes for line in lines)
    large = [line for line in lines if line.bytes >= least]
    for line in large[:_MOST_LINES]:
        yield f"    {_size(line.bytes):>9}  {_place(line.largest)}"
        yield f"    {'':9}  {_array(line.largest)}"
    if (more := len(large) - _MOST_LINES) > 0:
        yield f"    {'':9}  and {more} other{'s' if more > 1 else ''}"


def _place(array: Written) -> str:
    site = array.site
    if site.line is None and array.opcode in _TRANSFERS:
        return f"transfer to {array.memory.upper() or 'another memory'}"
    if site.line is None:
        return array.op_name or array.operation
    inside = f" in {site.function}" if site.function else ""
    return f"{site.file}:{site.line}{inside}"


def _array(array: Written) -> str:
    shape = ",".join(map(str, array.shape))
    return f"{array.opcode} {array.type}[{shape}]{array.layout}"


def _size(size: int) -> str:
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} bytes"


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
