"""Finds the operation at which two graphs diverge: a number, a size, or the operation itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import replace
from functools import partial

from xladoctor.causes.contrast import Contrast
from xladoctor.causes.graphs import Graphs
from xladoctor.causes.inputs import numbers_by_line
from xladoctor.causes.interface import NOWHERE, Cause, Change, Line, Parameter
from xladoctor.causes.operations import DULL, elements, with_origins

_LARGE = 8  # instructions before optimization; shapes or numbers alone cause fewer


def by_operations(contrast: Contrast, graphs: Graphs) -> Cause | None:
    """The cause from the first lowered change among those that have a line."""
    made_of = partial(graphs.made_of, contrast.before, contrast.after)
    changes = with_origins(contrast.operations, made_of)
    located = [change for change in changes if change.place.file]
    informative = _informative(located)
    first = informative[0] if informative else None
    resized = first is not None and first.nature == "shape"
    cause = None
    if contrast.inputs.scalars_alone and not resized:
        everywhere = _informative(changes)
        cause = _by_numbers(contrast, informative, located, {each.nature for each in everywhere})
    cause = cause or _by_size(contrast, located)
    if cause or first is None:
        return cause
    if first.nature == "value":
        return _constant(first, located)
    if not resized:
        return replaced(first)
    return None if contrast.inputs.added or contrast.inputs.removed else _sized(first, located)


def _informative(located: Iterable[Change]) -> list[Change]:
    """Changes made by the program; those at which the graphs diverge come first."""
    informative = [
        change for change in located if change.nature != "count" and is_informative(change)
    ]
    return sorted(_leading(informative), key=lambda change: not change.origin)


def _leading(changes: list[Change]) -> list[Change]:
    """The changes without consequences of others."""
    if not any(change.nature == "shape" for change in changes):
        return changes
    return [change for change in changes if not _follows_a_size(change)]


def is_informative(change: Change) -> bool:
    """Whether a change is the program's, not only the optimization's."""
    return change.significant or (change.nature == "value" and change.number)


def _follows_a_size(change: Change) -> bool:
    """Whether it is a number that an operation derives from a size, such as the n of a mean."""
    texts = (*change.was, *change.now)
    return (
        change.nature == "value"
        and not change.number
        and all(" constant(" in text for text in texts)
    )


def _by_numbers(
    contrast: Contrast,
    informative: Sequence[Change],
    located: Sequence[Change],
    natures: Set[str],
) -> Cause | None:
    """A Python number, if the graphs may have had the same operations before optimization.

    Args:
        natures: of all changes of the program, those without a line too.
    """
    if natures >= {"added", "removed"}:
        return None
    gone, come = numbers_by_line(contrast.before, contrast.after)
    counted = [change for change in located if change.significant]
    if not _same_operations(contrast, len(gone) + len(come), informative, counted):
        return None
    if informative and informative[0].nature == "value":
        return _constant(informative[0], located)
    lines = {parameter.place.spot for parameter in (*gone, *come)}
    simplified = informative[0] if informative else _foremost(counted)
    if simplified and (not lines or (not informative and simplified.place.spot not in lines)):
        return Cause("constant", op=simplified.op, role="used", place=simplified.place)
    if gone or come:
        return _special_scalar(
            gone, come, {change.place.spot for change in (*informative, *counted)}
        )
    return Cause("constant") if counted else None


def _same_operations(
    contrast: Contrast, numbers: int, informative: Sequence[Change], counted: Sequence[Change]
) -> bool:
    """Whether all differences can be the result of optimizing other numbers.

    Optimization simplifies what a number makes trivial. If a graph did not shrink before it,
    nothing was removed; if it did not grow, nothing was added, whatever is left afterwards.
    """
    grown = contrast.after.size - contrast.before.size
    more = sum(change.more for change in counted)
    natures = {change.nature for change in informative}
    return (
        abs(grown) <= 2 * numbers
        or ("added" not in natures and grown >= 0 >= more)
        or ("removed" not in natures and grown <= 0 <= more)
    )


def _foremost(counted: Sequence[Change]) -> Change | None:
    """The operation with the most differences in number; the others follow from it."""
    foremost = max(counted, key=lambda change: abs(change.more), default=None)
    others = sum(abs(change.more) for change in counted) / 2
    return foremost if foremost and abs(foremost.more) > others else None


def _special_scalar(
    gone: list[Parameter], come: list[Parameter], changed: Collection[Line]
) -> Cause:
    """A Python number that is no longer an input: 0 and 1 are baked in, equal numbers are merged.

    If there are several candidates, as inputs of the other graph have no line, it is the one whose
    line has operations that differ.
    """
    placed = [number for number in (*gone, *come) if number.place.file]
    likely = (number for number in placed if number.place.spot in changed)
    number = next(likely, (placed or [*gone, *come])[0])
    was, now = ("input", "constant") if number in gone else ("constant", "input")
    return Cause("constant", was=was, now=now, role="used", place=number.place)


def _by_size(contrast: Contrast, located: Sequence[Change]) -> Cause | None:
    """Operations that were added or left out, as the size before optimization proves."""
    grown = contrast.after.size - contrast.before.size
    if abs(grown) < _LARGE:
        return None
    counted = [change for change in located if change.significant]
    along = [change for change in counted if change.more * grown > 0]
    if not along:
        return None
    apart = (change for change in counted if change.nature in ("added", "removed"))
    first = next(apart, along[0])
    return times_over(first) if first.was_count and first.now_count else replaced(first)


def _constant(change: Change, changes: Sequence[Change]) -> Cause:
    """A changed number, named after the operation that uses it if it has none of its own."""
    op = change.op
    if change.number:
        users = (
            user.op for user in changes if user.place.spot == change.place.spot and user.significant
        )
        op = next(users, "")
    return Cause(
        "constant",
        op=op or None,
        was=_number(change.was),
        now=_number(change.now),
        role="used",
        place=change.place,
    )


def _number(texts: tuple[str, ...]) -> str | None:
    """The value of a constant alone, or the attributes of an operation."""
    text = _first(texts)
    if text is None:
        return None
    if "constant(" in text:
        return text.split("constant(", 1)[1].removesuffix(")")
    return text.split(" ", 2)[-1]


def _first(texts: tuple[str, ...]) -> str | None:
    return texts[0] if texts else None


def replaced(change: Change) -> Cause:
    """An operation that only one graph has, or another one in its place."""
    was, now = _first(change.was), _first(change.now)
    cause = Cause("operations", op=change.op, role="used", place=change.place)
    return cause if was == now else replace(cause, was=was, now=now)


def times_over(change: Change) -> Cause:
    """An operation that was lowered to more or fewer instructions."""
    cause = Cause("operations", op=change.op, role="used", place=change.place)
    if change.was_count == change.now_count:
        return cause
    return replace(cause, was=_times(change.was_count), now=_times(change.now_count))


def _times(count: int) -> str:
    return f"{count} instruction{'' if count == 1 else 's'}"


def _sized(change: Change, changes: Sequence[Change]) -> Cause:
    """A result of another size, caused by a number or by a tensor that Python creates."""
    was, now = _shapes(change)
    if was == now or (change.origin and not change.makes):
        return replace(_constant(change, changes), was=was, now=now)
    if was and now and was.partition("[")[2] == now.partition("[")[2]:  # only the type differs
        return replace(replaced(change), was=was, now=now)
    dimension, value = _dimension(was, now)
    return Cause(
        "input_shape",
        op=change.op,
        was=was,
        now=now,
        dimension=dimension,
        value=value,
        role="made",
        place=change.place,
    )


def _shapes(change: Change) -> tuple[str | None, str | None]:
    """The shapes of the result of an instruction that both graphs have; of several the largest."""
    was, now = (_results(texts) for texts in (change.was, change.now))
    if common := was.keys() & now.keys():
        opcode = max(common, key=lambda name: (name not in DULL, elements(now[name]), name))
        return was[opcode], now[opcode]
    return next(iter(was.values()), None), next(iter(now.values()), None)


def _results(texts: tuple[str, ...]) -> dict[str, str]:
    """By opcode, the type and shape of the first such instruction."""
    shapes: dict[str, str] = {}
    for text in texts:
        shape, opcode, *_ = text.split(" ", 2)
        shapes.setdefault(opcode.partition("(")[0], shape)
    return shapes


def _dimension(was: str | None, now: str | None) -> tuple[int, int] | tuple[None, None]:
    """The first dimension that differs, and its size now."""
    if not was or not now:
        return None, None
    old, new = (text[text.index("[") + 1 : -1].split(",") for text in (was, now))
    if len(old) != len(new) or "" in (*old, *new):
        return None, None
    differing = (n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
    dimension = next(differing, None)
    return (None, None) if dimension is None else (dimension, int(new[dimension]))


def by_hidden(contrast: Contrast) -> Cause | None:
    """Differing operations without a line: the backward pass."""
    hidden = _leading([change for change in contrast.operations if is_informative(change)])
    values = [change for change in hidden if change.nature == "value"]
    if values:
        return _constant(values[0], contrast.operations)
    return replace(replaced(hidden[0]), role=None, place=NOWHERE) if hidden else None


def by_replacement(contrast: Contrast) -> Cause | None:
    """An operation in place of another, which took its numbers along; one of them has no line."""
    if not contrast.inputs.scalars_alone:
        return None
    changes = [change for change in contrast.operations if is_informative(change)]
    gone = next((change for change in changes if change.nature == "removed"), None)
    come = next((change for change in changes if change.nature == "added"), None)
    if gone is None or come is None:
        return None
    placed = come if come.place.file else gone
    cause = replace(replaced(come), was=_first(gone.was), place=placed.place)
    return cause if placed.place.file else replace(cause, role=None, place=NOWHERE)
