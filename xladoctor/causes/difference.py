"""All that differs between two compiled graphs, in the order in which Python made them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from xladoctor.causes import changes
from xladoctor.causes.changes import Change, Differing, InputChanges
from xladoctor.causes.graphs import (
    NOWHERE,
    Counted,
    Graph,
    Graphs,
    Parameter,
    Place,
    Token,
)
from xladoctor.errors import XladoctorError
from xladoctor.evidence.database import Database

Row = dict[str, Any]
_COMPILATION = """
    SELECT c.index, c.step, c.duration_ns / 1e9 AS seconds, c.graph_hash, m.instructions,
           coalesce(c.inputs, (SELECT count(*) FROM hlo_parameter p WHERE
               p.process = c.process AND p.program_id = m.program_id)) AS inputs,
           c.outputs, c.file, c.line
    FROM compilation c
    LEFT JOIN hlo_module m ON m.process = c.process AND m.graph_hash = c.graph_hash
    WHERE c.process = $process AND c.index = $index LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Compiled:
    """One of the two compilations; ``file`` and ``line`` are its call site's.

    ``instructions`` are those after optimization. What is not known is None.
    """

    index: int
    step: int | None
    seconds: float | None
    graph_hash: str
    instructions: int
    inputs: int
    outputs: int | None
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class InputChange:
    """An input that is another one, or that one graph alone has: the other side is then None.

    Attributes:
        parameter: its number in B; in A where only A has it.
        sent: whether the line sent it to the device; else it is the first that uses it.
    """

    parameter: int
    a: str | None
    b: str | None
    sent: bool
    place: Place


@dataclass(frozen=True, slots=True)
class OperationChange:
    """An operation of the framework at a line that came to other instructions.

    ``a`` and ``b`` are what one side alone has, or has more of, as HLO text without names; the
    counts are those of all the kinds of instruction that differ. ``op`` is None for instructions of
    no operation.
    """

    op: str | None
    a: tuple[str, ...]
    b: tuple[str, ...]
    a_count: int
    b_count: int


@dataclass(frozen=True, slots=True)
class LineChange:
    """A Python line and its operations that differ, in the order of lowering."""

    place: Place
    operations: tuple[OperationChange, ...]


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """What else a graph was compiled for: donated inputs, devices, sharding, outputs."""

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two compilations of a process, and in what their graphs differ after optimization.

    ``left_out`` is how many kinds of instruction differ too, but were lowered later.
    """

    process: int
    a: Compiled
    b: Compiled
    inputs: tuple[InputChange, ...]
    lines: tuple[LineChange, ...]
    placement: tuple[PlacementChange, ...]
    left_out: int

    @property
    def same(self) -> bool:
        """Whether the graphs show no difference at all."""
        return not (self.inputs or self.lines or self.placement)


def difference(database: Database, process: int, a: int, b: int) -> Difference:
    """Compare the graphs of two compilations of a process, by their numbers.

    Raises:
        XladoctorError: there is no such compilation, or its graph is not in the timeline.
    """
    rows = [_compilation(database, process, index) for index in (a, b)]
    graphs = Graphs(database)
    before, after = _captured(graphs, process, rows)
    one, other = (Compiled(**row) for row in rows)
    found = changes.differing(before.tokens, after.tokens)
    described = graphs.describe(found.keys.tolist())
    changed = changes.inputs(before, after, _together(database, graphs, process, rows[1]))
    differing = changes.operations(before, after, found, described) + _nameless(found, described)
    return Difference(
        process, one, other, tuple(_inputs(changed, changes.layouts(before, after))),
        tuple(_by_line(differing)), tuple(_placement(before, after, one, other)),
        _number_differing(before.tokens, after.tokens) - len(found.keys),
    )  # fmt: skip


def _compilation(database: Database, process: int, index: int) -> Row:
    rows = database.rows(_COMPILATION, {"process": process, "index": index})
    if rows:
        return rows[0]
    last = database.scalar(
        "SELECT max(index) FROM compilation WHERE process = $process", {"process": process}
    )
    there = "has none" if last is None else f"has the numbers 0 to {last}"
    raise XladoctorError(f"there is no compilation {index}", f"process {process} {there}")


def _captured(graphs: Graphs, process: int, rows: list[Row]) -> list[Graph]:
    found = {row["index"]: graphs.get(process, row["graph_hash"]) for row in rows}
    lacking = " and ".join(str(index) for index, graph in found.items() if graph is None)
    if lacking:
        raise XladoctorError(
            f"no graph to compare: that of compilation {lacking} is not in the evidence",
            "graphs are kept that the capture saw loaded, as far as --trace-bytes allows",
        )
    return [graph for row in rows if (graph := found[row["index"]])]


def _together(
    database: Database, graphs: Graphs, process: int, row: Row
) -> Callable[[Any, Any], bool]:
    """Whether a graph of the call site has inputs of both kinds, which then are two inputs."""
    hashes = database.table(
        "SELECT DISTINCT graph_hash FROM compilation"
        " WHERE process = $process AND (file, line) IS NOT DISTINCT FROM ($file, $line)",
        {"process": process, "file": row["file"], "line": row["line"]},
    )[1]
    found = [graphs.get(process, graph_hash) for (graph_hash,) in hashes]
    kinds = [{one.kind for one in graph.parameters} for graph in found if graph]
    return lambda a, b: any(a in of_graph and b in of_graph for of_graph in kinds)


def _inputs(
    found: InputChanges, layout: tuple[Parameter, Parameter] | None
) -> Iterator[InputChange]:
    for a, b in found.changed:
        yield InputChange(b.number, a.text, b.text, b.sent, b.place)
    if layout:
        a, b = layout
        was, now = (f"{one.text}{{{','.join(map(str, one.layout or ()))}}}" for one in layout)
        yield InputChange(b.number, was, now, b.sent, b.place)
    for one in found.removed:
        yield InputChange(one.number, one.text, None, one.sent, one.place)
    for one in found.added:
        yield InputChange(one.number, None, one.text, one.sent, one.place)


def _by_line(differences: list[Change]) -> Iterator[LineChange]:
    """Operations by their line; the lines in the order of their first operation."""
    lines: dict[Any, list[Change]] = {}
    for one in differences:
        lines.setdefault(one.place[:2], []).append(one)
    for group in lines.values():
        yield LineChange(group[0].place, tuple(map(_operation, group)))


def _operation(one: Change) -> OperationChange:
    was, now = (tuple(sorted(texts, key=_telling)) for texts in (one.was, one.now))
    return OperationChange(one.op or None, was, now, one.was_count, one.now_count)


def _telling(text: str) -> tuple[bool, str, str]:
    """An order that is the same on both sides; what says little comes last."""
    kind = text.split(" ", 1)[-1]
    return re.split(r"\W", kind, maxsplit=1)[0] in changes.DULL, kind, text


def _nameless(found: Differing, described: dict[int, Token]) -> list[Change]:
    """Instructions of no operation of the framework, as one: the bodies of reductions above all."""
    was, now = Counter[str](), Counter[str]()
    for key, before, after, _ in zip(*(column.tolist() for column in found), strict=True):
        token = described.get(key)
        if token is not None and not token.op:
            was[token.text] += before
            now[token.text] += after
    if was == now:
        return []
    texts = list(was - now), list(now - was)
    return [Change("count", NOWHERE, "", *texts, was.total(), now.total(), order=0)]


def _placement(old: Graph, new: Graph, a: Compiled, b: Compiled) -> Iterator[PlacementChange]:
    for name in ("donated", "devices", "sharding"):
        if old.placement[name] != new.placement[name]:
            yield PlacementChange(name, *(_listed(one.placement[name]) for one in (old, new)))
    if None not in (a.outputs, b.outputs) and a.outputs != b.outputs:
        yield PlacementChange("outputs", (str(a.outputs),), (str(b.outputs),))


def _listed(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(str(one) for one in values if one is not None)


def _number_differing(old: Counted, new: Counted) -> int:
    """Kinds of instruction of which two graphs have different numbers."""
    common, at_old, at_new = np.intersect1d(old.keys, new.keys, True, return_indices=True)
    equal = int((old.counts[at_old] == new.counts[at_new]).sum())
    return len(old.keys) + len(new.keys) - len(common) - equal
