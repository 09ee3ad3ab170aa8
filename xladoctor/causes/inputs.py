"""Matches the inputs of two graphs: which are the same, changed, were added or removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

from xladoctor.causes.interface import Graph, InputChanges, InputKind, Line, Parameter, Together

_MOST_ALIGNED = 400  # inputs; more are compared without their order
Pair = tuple[Parameter, Parameter]
K = TypeVar("K", InputKind, Line)


def together(graphs: Iterable[Graph]) -> Together:
    """A function that says whether any of a site's graphs has inputs of both kinds."""
    kinds = {frozenset(parameter.kind for parameter in graph.parameters) for graph in graphs}
    return lambda a, b: any(a in of_graph and b in of_graph for of_graph in kinds)


def inputs(old: Graph, new: Graph, together: Together) -> InputChanges:
    """Compare the inputs of two graphs; for ``together`` see :func:`together`."""
    before, after = _without_common_ends(old.parameters, new.parameters)
    pairs: list[Pair] = []
    if len(before) == len(after):
        pairs = [(a, b) for a, b in zip(before, after, strict=True) if a.kind != b.kind]
        before, after = [a for a, _ in pairs], [b for _, b in pairs]
    elif max(len(before), len(after)) <= _MOST_ALIGNED:
        pairs, before, after = _aligned(before, after)
    return _paired(before, after, pairs, together)


def _without_common_ends(
    old: Sequence[Parameter], new: Sequence[Parameter]
) -> tuple[list[Parameter], list[Parameter]]:
    begin = 0
    while begin < min(len(old), len(new)) and old[begin].kind == new[begin].kind:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end].kind == new[-1 - end].kind:
        end += 1
    return list(old[begin : len(old) - end]), list(new[begin : len(new) - end])


def _aligned(
    old: list[Parameter], new: list[Parameter]
) -> tuple[list[Pair], list[Parameter], list[Parameter]]:
    """Pairs in the same place between equal inputs, and all inputs that are not equal."""
    a_kinds, b_kinds = ([parameter.kind for parameter in side] for side in (old, new))
    matcher = SequenceMatcher(None, a_kinds, b_kinds, autojunk=False)
    pairs, before, after = [], [], []
    for what, a, b, c, d in matcher.get_opcodes():
        if what == "equal":
            continue
        before += old[a:b]
        after += new[c:d]
        if b - a == d - c:
            pairs += list(zip(old[a:b], new[c:d], strict=True))
    return pairs, before, after


def _paired(
    old: list[Parameter], new: list[Parameter], pairs: list[Pair], together: Together
) -> InputChanges:
    """Distinguish inputs that changed from ones that were added, removed, or only moved."""
    removed, candidates = _excess(old, new), _excess(new, old)
    changed: list[Pair] = []
    added: list[Parameter] = []
    partners = {id(b): a for a, b in pairs}
    for parameter in candidates:
        match = _match(parameter, partners.get(id(parameter)), removed, together)
        if match is None:
            added.append(parameter)
            continue
        changed.append((match, parameter))
        removed = [other for other in removed if other is not match]
    if len(removed) == len(added) == 1 and not together(removed[0].kind, added[0].kind):
        changed.append((removed.pop(), added.pop()))
    return InputChanges(tuple(changed), tuple(removed), tuple(added))


def _excess(parameters: Iterable[Parameter], others: Iterable[Parameter]) -> list[Parameter]:
    """The first inputs of each kind, as many as the other side lacks."""
    left = Counter(parameter.kind for parameter in parameters)
    left.subtract(parameter.kind for parameter in others)
    return _taken(parameters, left, lambda parameter: parameter.kind)


def _taken(
    parameters: Iterable[Parameter], counts: Counter[K], key: Callable[[Parameter], K]
) -> list[Parameter]:
    """As many parameters with each key as counted, in order."""
    left, taken = Counter(counts), []
    for parameter in parameters:
        if left[key(parameter)] > 0:
            left[key(parameter)] -= 1
            taken.append(parameter)
    return taken


def _match(
    parameter: Parameter, partner: Parameter | None, removed: list[Parameter], together: Together
) -> Parameter | None:
    """The earlier input that this one may be: the one in the same place, else one of its line."""
    match = partner
    if match is None or not any(match is other for other in removed):
        match = next((other for other in removed if _same_line(other, parameter)), None)
    if match is None or not _may_be_the_same(match, parameter):
        return None
    apart = not parameter.sent and together(match.kind, parameter.kind)
    return None if apart else match


def _same_line(a: Parameter, b: Parameter) -> bool:
    return a.place.file is not None and a.place.spot == b.place.spot


def _may_be_the_same(a: Parameter, b: Parameter) -> bool:
    """Whether inputs have the same line or, without lines, the same rank and type."""
    if a.place.file is not None and b.place.file is not None:
        return a.place.spot == b.place.spot
    return len(a.shape) == len(b.shape) or a.shape == b.shape


def numbers_by_line(old: Graph, new: Graph) -> tuple[list[Parameter], list[Parameter]]:
    """Scalars that are an input from a line in only the earlier, or only the later graph.

    Scalars without a line count as from one line.
    """
    before, after = (
        [parameter for parameter in graph.parameters if not parameter.shape] for graph in (old, new)
    )
    lines = [Counter(parameter.place.spot for parameter in side) for side in (before, after)]
    return (_of_lines(before, lines[0] - lines[1]), _of_lines(after, lines[1] - lines[0]))


def _of_lines(parameters: list[Parameter], lines: Counter[Line]) -> list[Parameter]:
    """The last parameters of each line, as many as counted."""
    return _taken(reversed(parameters), lines, lambda parameter: parameter.place.spot)


def layouts(old: Graph, new: Graph) -> Pair | None:
    """The first input of which only the layout changed."""
    if len(old.parameters) != len(new.parameters):
        return None
    return next(
        (
            (a, b)
            for a, b in zip(old.parameters, new.parameters, strict=True)
            if a.kind == b.kind and None not in (a.layout, b.layout) and a.layout != b.layout
        ),
        None,
    )
