"""Graphs that were compiled for TPUs: what the compiler decided, topologies side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.text import Text

from xladoctor.diagnosis.tpu_graph import TpuCollective, TpuGraph, TpuLine
from xladoctor.quantities import binary_size, duration, percent
from xladoctor.report.interface import Style
from xladoctor.report.shardings import REASONS
from xladoctor.report.text import FOLDED, Hanging, grid, headed, plain, styled

#: Said once, below all graphs; the second where the compiler was stopped at its plan.
HONESTY = (
    "Decided by the compiler, not measured: no TPU was used. How near that came to real ones:"
    " docs/tpu-check-accuracy.md."
)
PLANNED = " Machine code was not generated (--whole): what fails only there is not known."
_VERDICTS = {
    "fits": "fits",
    "does_not_fit": "does not fit",
    "unknown": "unknown",
    "refused": "not compiled",
}
_LOOKS = {
    "fits": "bold green",
    "does_not_fit": "bold red",
    "unknown": "bold yellow",
    "refused": "bold yellow",
}
_SHOWN = 0.01  # of what is written; lines are listed from there
_LINES = 3
_FLAGS = 2  # shown
_LABEL = 11


def groups(graphs: Sequence[TpuGraph]) -> list[list[TpuGraph]]:
    """The graphs, each with all topologies that it was compiled for."""
    found: dict[int, list[TpuGraph]] = {}
    for graph in graphs:
        found.setdefault(graph.graph, []).append(graph)
    return [*found.values()]


def cells(graph: TpuGraph) -> dict[str, str]:
    """What is known of a graph and a topology: label -> text."""
    found = {"verdict": _VERDICTS.get(graph.verdict, graph.verdict)}  # may be a later release's
    if shown := needed(graph):
        found["peak"] = shown
    if graph.least_parts and graph.peak_bytes is None and graph.needed_bytes is None:
        found["certain"] = graph.least_parts
    sizes = {
        "arguments": graph.argument_bytes,
        "results": graph.result_bytes,
        "temporaries": graph.temporary_bytes,
    }
    found |= {name: binary_size(size) for name, size in sizes.items() if size}
    if "results" in found and graph.aliased_bytes:
        found["results"] += f", {binary_size(graph.aliased_bytes)} in place of arguments"
    if graph.padding_share is not None and graph.moved_share is not None:
        written = (graph.written_bytes or 0) + (graph.padding_bytes or 0)
        found["written"] = f"{binary_size(written)} a run"
        found["padding"] = f"{percent(graph.padding_share)} of that"
        found["copies"] = f"{percent(graph.moved_share)} of that"
        if graph.twice_share >= _SHOWN:
            found["copies"] += f", {percent(graph.twice_share)} of arguments not donated"
        if graph.unknown_layouts:
            found["padding"] += f", without {graph.unknown_layouts} arrays of unknown layout"
    for each in graph.collectives:
        found[_named(each)] = _amount(each)
    if graph.verdict != "refused":
        fits = "planned" if graph.stage == "plan" else "compiled"
        found["refused" if graph.verdict == "does_not_fit" else fits] = _taken(graph)
    found |= {"by": graph.compiler, "flags": _flags(graph)}
    return {label: text for label, text in found.items() if text}


def _flags(graph: TpuGraph) -> str:
    flags = graph.flags.split()
    more = f" and {len(flags) - _FLAGS} more" if len(flags) > _FLAGS else ""
    return " ".join(flags[:_FLAGS]) + more


def needed(graph: TpuGraph) -> str:
    """What is known of the memory that it needs; empty if nothing is."""
    if not graph.available_bytes:
        return ""
    available, share = binary_size(graph.available_bytes), graph.hbm_share
    if graph.peak_bytes and share is not None:
        return f"{binary_size(graph.peak_bytes)}, {percent(share)} of {available}"
    if graph.needed_bytes:
        more = binary_size(max(0, graph.needed_bytes - graph.available_bytes))
        return f"needs {binary_size(graph.needed_bytes)} of {available}, {more} more"
    least = graph.least_bytes or 0
    if graph.verdict == "does_not_fit" and least <= graph.available_bytes:
        return f"more than {available}"
    return f"at least {binary_size(least)} of {available}" if least else ""


def _taken(graph: TpuGraph) -> str:
    """How long it took, and what was left out."""
    if graph.stage == "bound":
        return f"in {duration(graph.seconds)}: the compiler was not run"
    spent = duration(graph.processor_seconds)
    of = f", {spent} on a processor" if graph.processor_seconds else ""
    return f"in {duration(graph.seconds)}{of}{', earlier' if graph.cached else ''}"


def _named(collective: TpuCollective) -> str:
    over = f" over {collective.axes}" if collective.axes else ""
    return f"{collective.opcode}{over}"


def _amount(collective: TpuCollective) -> str:
    beside = f", {collective.asynchronous} asynchronous" if collective.asynchronous else ""
    why = "; ".join(REASONS[reason] for reason in collective.reasons[:2])
    amount = f"{collective.count} a run, results of {binary_size(collective.bytes)}{beside}"
    return f"{amount}: {why}" if why else amount


def heading(graphs: Sequence[TpuGraph]) -> list[str]:
    """Name and source of a graph, and what else is true for all topologies."""
    first = graphs[0]
    source = PurePath(first.source).name
    facts = [fact for fact in (first.role, source) if fact not in ("", first.name)]
    if operations := max(graph.operations for graph in graphs):
        facts.append(f"{operations:,} operations")
    if devices := max(graph.devices for graph in graphs) - 1:
        facts.append(f"{devices + 1} devices")
    if first.launches:
        facts.append(f"ran {first.launches:,} times")
    return [first.name, *facts]


def reasons(graphs: Sequence[TpuGraph]) -> Iterator[str]:
    """Why something is not known of a graph, and what to know about it, each reason once."""
    for reason in dict.fromkeys((graph.reason, graph.hint) for graph in graphs if graph.reason):
        yield ": ".join(text for text in reason if text)


def line_text(line: TpuLine) -> str:
    """A line of the program, or what the operation is."""
    if line.location is None:
        return line.what
    inside = line.location.function
    within = f" in {inside}" if inside and inside != "<module>" else ""
    return f"{line.location.file}:{line.location.line}{within}"


def lists(graph: TpuGraph) -> Iterator[tuple[str, list[TpuLine]]]:
    """The lines with most of what is worth a look, below a title."""
    for title, share, whole, lines in (
        ("padding", graph.padding_share, graph.padding_bytes, graph.padded),
        ("copies", graph.moved_share, graph.moved_bytes, graph.moved),
    ):
        if share is not None and whole is not None and share >= _SHOWN:
            yield title, [line for line in lines[:_LINES] if line.bytes >= _SHOWN * whole]
    if graph.resharded:
        yield "resharded", graph.resharded[:_LINES]


def sections(graphs: Sequence[TpuGraph], style: Style) -> list[RenderableType]:
    """A section for each graph, and what all of that is worth."""
    if not graphs:
        return []
    last = [Hanging(styled(honesty(graphs), style, "dim"))] if decided(graphs) else []
    several = len({graph.topology for graph in graphs}) > 1
    first = [_overview(graphs, style)] if several else []
    return [*first, *(_section(each, style) for each in groups(graphs)), *last]


def _overview(graphs: Sequence[TpuGraph], style: Style) -> RenderableType:
    """A row for each graph and TPU: the verdict, the memory, its share, and how long it took."""
    rows = list[list[RenderableType]]()
    before = None
    for graph in sorted(graphs, key=lambda graph: graph.graph):
        took = duration(graph.seconds) if graph.compiler else ""
        shown = plain(_VERDICTS.get(graph.verdict, graph.verdict), style)
        verdict = Text(shown, _LOOKS.get(graph.verdict, ""))
        name = "" if graph.graph == before else graph.name
        before = graph.graph
        texts = (styled(text, style) for text in (needed(graph), took))
        rows.append([styled(name, style), Text(graph.compiled_for), verdict, *texts])
    columns = ("", "for", "verdict", "a device needs", "took")
    heads = [styled(text, style, "dim") for text in columns]
    return grid([heads, *rows], FOLDED, *[{}] * 4)


def honesty(graphs: Sequence[TpuGraph]) -> str:
    """What all of it is worth."""
    planned = any(graph.stage == "plan" for graph in graphs)
    return HONESTY + (PLANNED if planned else "")


def decided(graphs: Sequence[TpuGraph]) -> bool:
    """Whether the compiler decided anything."""
    return any(graph.verdict != "refused" and graph.stage != "bound" for graph in graphs)


def _section(graphs: Sequence[TpuGraph], style: Style) -> Group:
    name, *facts = heading(graphs)
    rows: list[RenderableType] = [headed(name, facts, style), beside(graphs, style)]
    rows += [Hanging(styled(text, style)) for text in reasons(graphs)]
    if style.detail.verbose:
        for graph in graphs:
            rows += _lists(graph, style, several=len(graphs) > 1)
    return Group(*rows)


def beside(graphs: Sequence[TpuGraph], style: Style, names: Sequence[str] = ()) -> RenderableType:
    """Graphs side by side.

    Args:
        names: what each is called, in front of what it was compiled for.
    """
    heads, rows = matrix(graphs, names)
    looks = [_LOOKS.get(graph.verdict, "") for graph in graphs]
    shown = [[Text(""), *map(Text, (plain(head, style) for head in heads), looks)]]
    for label, *texts in rows:
        shown.append([styled(label, style, "dim"), *(styled(text, style) for text in texts)])
    return grid(shown, {"min_width": _LABEL, **FOLDED}, *[FOLDED] * len(graphs))


def matrix(
    graphs: Sequence[TpuGraph], names: Sequence[str] = ()
) -> tuple[list[str], list[list[str]]]:
    """A column for each graph: the heads, and rows that begin with a label."""
    columns = [cells(graph) for graph in graphs]
    fullest = sorted(columns, key=len, reverse=True)  # its labels are in order
    labels = dict.fromkeys(label for column in fullest for label in column if label != "verdict")
    heads = [
        f"{graph.compiled_for}: {column['verdict']}"
        for graph, column in zip(graphs, columns, strict=True)
    ]
    if names:
        heads = [f"{name}  {head}" for name, head in zip(names, heads, strict=True)]
    return heads, [[label, *(column.get(label, "") for column in columns)] for label in labels]


def _lists(graph: TpuGraph, style: Style, *, several: bool) -> Iterator[RenderableType]:
    for title, lines in lists(graph):
        where = f" for {graph.compiled_for}" if several else ""
        yield styled(f"{title}{where}", style, "dim")
        for line in lines:
            text = Text(f"{binary_size(line.bytes):>10}  ")
            yield text.append(plain(line_text(line), style), style="cyan" * bool(line.location))
            yield styled(f"{'':12}{line.largest}", style, "dim")
