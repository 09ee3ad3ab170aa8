"""Finds blocks whose number differs between two graphs, and the line that calls them.

A layer left out at random, or one more iteration of a loop, has no line of its own: all copies of a
block come from the same lines. The calls that led to them show it. Below the call of the block,
everything differs in number; below the lines around it, only a part.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from xladoctor.causes.graphs import Graphs
from xladoctor.causes.interface import Cause, Causes, Compilation, Graph, Place, Sites, Stack, Work

_LARGE = 8  # instructions before optimization
_MOST_ASKED = 8  # graphs that are compared with
_WHOLE = 2  # a framework's function that occurs twice between two lines called itself


class _Block(NamedTuple):
    """The call of a block, and how often the work below it occurs in either graph."""

    call: Stack
    work: Mapping[Work, tuple[int, int]]


def by_blocks(
    before: Graph, after: Graph, compilation: Compilation, graphs: Graphs
) -> Cause | None:
    """The cause if the later graph, made for ``compilation``, has more or fewer whole blocks."""
    if abs(after.size - before.size) < _LARGE:
        return None
    was, now = (graphs.work(graph) for graph in (before, after))
    counts = {work: (was[work], now[work]) for work in {**was, **now}}
    block = next(_blocks(counts, compilation), None)
    if block is None:
        return None
    work = next(work for work, counted in block.work.items() if all(counted))
    old, new = block.work[work]
    return Cause(
        "operations",
        op=work.op,
        was=_times(old),
        now=_times(new),
        role="used",
        place=_place(_into_containers(block)),
    )


def by_size(before: Graph, after: Graph) -> Cause | None:
    """The same by the number of instructions, for instructions without lines, as in most timelines
    of other profilers. One more tensor in a list only adds a few.
    """
    more = abs(after.size - before.size)
    inputs = abs(len(after.parameters) - len(before.parameters))
    if more < _LARGE * max(1, inputs):
        return None
    return Cause("operations", was=_times(before.instructions), now=_times(after.instructions))


def with_blocks(causes: Causes, sites: Sites, graphs: Graphs) -> Causes:
    """The causes, with control flow named where only a comparison with another graph shows it.

    Graphs that leave out the same number of different layers differ only in consequences: donated
    inputs, or shared numbers, as layers have been updated differently often. Another graph of the
    site shows that layers are left out at all; graphs of the most different size are tried first.
    """
    flows = dict(causes)
    for compiled in sites.values():
        known = [(graph, c) for c in compiled if (graph := graphs.of(c))]
        if not known:
            continue
        for graph, compilation in known:
            cause = causes.get(compilation)
            if cause is None or not _follows(cause):
                continue
            apart = sorted(known, key=lambda pair: -abs(pair[0].size - graph.size))
            for other, against in apart[:_MOST_ASKED]:
                flow = by_blocks(other, graph, compilation, graphs)
                if flow is None and not (graphs.has_lines(other) or graphs.has_lines(graph)):
                    flow = by_size(other, graph)
                if flow:
                    flows[compilation] = replace(flow, basis="hlo", against=against.index)
                    break
    return flows


def _follows(cause: Cause) -> bool:
    """Whether a cause can be a consequence of layers left out."""
    return (
        cause.kind in ("input_count", "unknown")
        or (cause.kind == "placement" and cause.op == "donated")
        or (cause.kind == "constant" and "input" in (cause.was, cause.now))
        or (cause.kind == "operations" and cause.place.file is None)
    )


def _blocks(counts: Mapping[Work, tuple[int, int]], compilation: Compilation) -> Iterator[_Block]:
    """The outermost calls below which everything differs in number, and both graphs have some."""
    below: dict[Stack, dict[Work, tuple[int, int]]] = defaultdict(dict)
    for work, counted in counts.items():
        for depth in range(_outside(work.stack, compilation), len(work.stack) + 1):
            below[work.stack[:depth]][work] = counted
    whole = {
        call
        for call, part in below.items()
        if all(was < now for was, now in part.values())
        or all(was > now for was, now in part.values())
    }
    for call, part in below.items():
        if call in whole and call[:-1] not in whole and any(all(pair) for pair in part.values()):
            yield _Block(call, part)


def _outside(stack: Stack, compilation: Compilation) -> int:
    """The least depth of a call that does not lead to the barrier, too."""
    barrier = compilation.site.file, compilation.function
    depths = [
        depth for depth, frame in enumerate(stack, 1) if (frame.file, frame.function) == barrier
    ]
    return max(depths, default=1)


def _into_containers(block: _Block) -> Stack:
    """The call of a block, moved inwards past calls of the framework's own containers."""
    shared = _shared([work.stack for work in block.work])
    call = block.call
    for depth in range(len(call) + 1, len(shared) + 1):
        if shared[depth - 1].kind == "machinery":
            continue
        between = Counter(frame.function for frame in shared[len(call) : depth - 1])
        if max(between.values(), default=0) < _WHOLE:
            break
        call = shared[:depth]
    return call


def _shared(stacks: Sequence[Stack]) -> Stack:
    """The common beginning of all stacks."""
    first, last = min(stacks), max(stacks)
    depth = next(
        (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b),
        min(len(first), len(last)),
    )
    return first[:depth]


def _place(call: Stack) -> Place:
    """The innermost line that is not the framework's, and the user's line that led there."""
    named = [frame for frame in call if frame.kind != "machinery"]
    if not named:
        return Place()
    guilty = named[-1]
    if guilty.kind == "user":
        return Place(*guilty[:3])
    user = next((frame for frame in reversed(named) if frame.kind == "user"), None)
    return Place(*guilty[:3], *(user[:3] if user else ()))


def _times(count: int) -> str:
    return f"{count} instruction{'' if count == 1 else 's'}"
