"""Pairs of graphs with all their differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from xladoctor.causes.graphs import Graphs
from xladoctor.causes.inputs import inputs
from xladoctor.causes.interface import Change, Graph, InputChanges, Parameter, Together
from xladoctor.causes.operations import CountDifference, differing, moved, operations, uneven


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two graphs and their differences; operations in the order of lowering.

    ``instructions`` are the kinds of instruction that the operations consist of, at most 600.
    """

    before: Graph
    after: Graph
    inputs: InputChanges
    operations: tuple[Change, ...]
    instructions: list[CountDifference]

    def without_noise(self, was_there: Callable[[Parameter], bool]) -> Contrast:
        """The contrast without differences that are no reason: earlier weights, lines alone."""
        operations = () if moved(self.instructions) else self.operations
        return replace(self, inputs=self.inputs.apart(was_there), operations=operations)


def contrasts(graphs: Graphs, pairs: Sequence[tuple[Graph, Graph, Together]]) -> Iterator[Contrast]:
    """Compare graphs, the earlier of each pair first.

    The texts of instructions are fetched at once for all pairs.
    """
    parts = [differing(before.tokens, after.tokens) for before, after, _ in pairs]
    tokens = graphs.describe({key for part in parts for key in part.keys.tolist()})
    for (before, after, together), part in zip(pairs, parts, strict=True):
        rows = uneven(part, tokens)
        changes = operations(before, after, rows, graphs.vocabulary)
        yield Contrast(before, after, inputs(before, after, together), changes, rows)
