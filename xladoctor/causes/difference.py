"""All differences between two compiled graphs, in the order in which Python made them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from xladoctor.causes.compilations import read_compilations
from xladoctor.causes.contrast import Contrast, contrasts
from xladoctor.causes.graph_difference import (
    Compiled,
    Difference,
    InputChange,
    LineChange,
    OperationChange,
    PlacementChange,
)
from xladoctor.causes.graphs import Graphs
from xladoctor.causes.inputs import layouts, together
from xladoctor.causes.interface import NOWHERE, Change, Compilation, Graph, Line, Parameter
from xladoctor.causes.operations import DULL, CountDifference, number_differing
from xladoctor.causes.vocabulary import Vocabulary
from xladoctor.errors import XladoctorError
from xladoctor.evidence.database import Database


def difference(database: Database, process: int, a: int, b: int) -> Difference:
    """Compare the graphs of two compilations of a process, by their numbers.

    Raises:
        XladoctorError: there is no such compilation, or its graph is not in the timeline.
    """
    compilations = [c for c in read_compilations(database) if c.process == process]
    old, new = (_compilation(compilations, process, index) for index in (a, b))
    graphs = Graphs(database, Vocabulary.of(database))
    before, after = _captured(graphs, [old, new])
    site = [compilation for compilation in compilations if compilation.site == new.site]
    (contrast,) = contrasts(graphs, [(before, after, together(graphs.of_all(site)))])
    changes = [*contrast.operations, *_nameless(contrast.instructions)]
    return Difference(
        process,
        _compiled(old, before),
        _compiled(new, after),
        tuple(_inputs(contrast)),
        tuple(_by_line(changes)),
        tuple(_placement(contrast, old, new)),
        number_differing(before.tokens, after.tokens) - len(contrast.instructions),
    )


def _compilation(compilations: Sequence[Compilation], process: int, index: int) -> Compilation:
    for compilation in compilations:
        if compilation.index == index:
            return compilation
    last = f"has the numbers 0 to {compilations[-1].index}" if compilations else "has none"
    raise XladoctorError(f"there is no compilation {index}", f"process {process} {last}")


def _captured(graphs: Graphs, compilations: Sequence[Compilation]) -> list[Graph]:
    lacking = [str(c.index) for c in dict.fromkeys(compilations) if graphs.of(c) is None]
    if lacking:
        raise XladoctorError(
            f"no graph to compare: that of compilation {' and '.join(lacking)} is not in the"
            " evidence",
            "graphs are kept that the capture saw loaded, as far as --trace-bytes allows",
        )
    return graphs.of_all(compilations)


def _compiled(compilation: Compilation, graph: Graph) -> Compiled:
    c, duration = compilation, compilation.duration_ns
    return Compiled(
        c.index,
        c.step,
        None if duration is None else duration / 1e9,
        c.graph_hash or "",
        graph.instructions,
        len(graph.parameters) if c.inputs is None else c.inputs,
        c.outputs,
        c.site.file,
        c.site.line,
    )


def _inputs(contrast: Contrast) -> Iterator[InputChange]:
    for a, b in contrast.inputs.changed:
        yield _input(b, a.text, b.text)
    layout = layouts(contrast.before, contrast.after)
    if layout:
        a, b = layout
        yield _input(b, a.text_with_layout, b.text_with_layout)
    for parameter in contrast.inputs.removed:
        yield _input(parameter, parameter.text, None)
    for parameter in contrast.inputs.added:
        yield _input(parameter, None, parameter.text)


def _input(parameter: Parameter, a: str | None, b: str | None) -> InputChange:
    return InputChange(parameter.number, a, b, parameter.sent, parameter.place)


def _by_line(changes: Iterable[Change]) -> Iterator[LineChange]:
    """Operations by line; lines in the order of their first operation."""
    lines: dict[Line, list[Change]] = {}
    for change in changes:
        lines.setdefault(change.place.spot, []).append(change)
    for group in lines.values():
        yield LineChange(group[0].place, tuple(map(_operation, group)))


def _operation(change: Change) -> OperationChange:
    was, now = (
        tuple(sorted(texts, key=_most_informative_first)) for texts in (change.was, change.now)
    )
    return OperationChange(change.op or None, was, now, change.was_count, change.now_count)


def _most_informative_first(text: str) -> tuple[bool, str, str]:
    """A sort key that is the same on both sides; uninformative texts come last."""
    kind = text.split(" ", 1)[-1]
    return re.split(r"\W", kind, maxsplit=1)[0] in DULL, kind, text


def _nameless(instructions: Iterable[CountDifference]) -> list[Change]:
    """Instructions without an operation of the framework, as one change; mostly reducers."""
    was, now = Counter[str](), Counter[str]()
    for token, before, after, _ in instructions:
        if not token.op:
            was[token.text] += before
            now[token.text] += after
    if was == now:
        return []
    texts = tuple(was - now), tuple(now - was)
    return [Change("count", NOWHERE, "", *texts, was.total(), now.total(), order=0)]


def _placement(contrast: Contrast, a: Compilation, b: Compilation) -> Iterator[PlacementChange]:
    old, new = contrast.before.placement, contrast.after.placement
    for name, was in old.items():
        if was != new[name]:
            yield PlacementChange(name, was or (), new[name] or ())
    if None not in (a.outputs, b.outputs) and a.outputs != b.outputs:
        yield PlacementChange("outputs", (str(a.outputs),), (str(b.outputs),))
