"""Compares the first steps of a program and of its moved copy, in the order of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import cast

import numpy as np

from xladoctor.fixes.proof.arrays import Array
from xladoctor.move.proof.interface import Compared, Judgement, Kind, Outcome
from xladoctor.move.proof.recorded import FirstSteps, Seen, Value

#: How many distances between numbers of their type values may differ in any case.
_ROUNDED = 4
#: The share of the largest of all gradients that counts as noise, and how much more than gradients
#: updates may differ: an optimizer divides noise by noise.
_NOISE, _OF_UPDATES = 1e-2, 10
_GIVEN: tuple[Kind, ...] = ("weights", "inputs")
_DO = {
    "weights": "Draw the weights from a seed in both programs, or load one checkpoint in both.",
    "inputs": "Let both programs load the same batches in the same order: seed the generators that"
    " they make.",
}
_OF_ZEROS = (
    "All batches are zero, which leaves some gradients nothing but rounding: let both programs"
    " load other data."
)


def judged(source: Sequence[FirstSteps], target: Sequence[FirstSteps], rtol: float) -> Judgement:
    """Whether the first steps of two programs agree.

    Args:
        source, target: of each process of the original program and of the moved one.
        rtol: relative tolerance.
    """
    for name, processes in (("original", source), ("moved", target)):
        if not processes:
            reason = f"the {name} program called no module and made no update, as far as was seen"
            return Judgement("not comparable", reason=reason)
        if len(processes) > 1:
            reason = f"{len(processes)} processes of the {name} program compute steps"
            return Judgement(
                "not comparable", reason=reason, instead="Run it with a single process."
            )
    one, other = source[0], target[0]
    compared = tuple(_compared(one, other, rtol))
    first = next((each for each in compared if not each.agrees), None)
    steps = min(one.steps, other.steps)
    unproven = tuple(_unproven(one, other, compared, steps))
    if first is not None:
        of_rounding = first.kind == "gradients" and _are_zero(compared)
        outcome: Outcome = "not comparable" if first.kind in _GIVEN or of_rounding else "differs"
        instead = _OF_ZEROS if of_rounding else _DO.get(first.kind, "")
        return Judgement(outcome, steps, compared, first, _reason(first), instead, unproven)
    if one.steps != other.steps and not (one.stopped and other.stopped):
        reason = f"the original program makes {one.steps} steps, the moved one {other.steps}"
        return Judgement("differs", steps, compared, None, reason, unproven=unproven)
    empty = _empty_step(compared, steps)
    if empty:
        reason = f"nothing in step {empty} could differ: all values are zero, or not finite"
        return Judgement("not comparable", steps, compared, None, reason, unproven=unproven)
    return Judgement("agrees", steps, compared, unproven=unproven)


def _are_zero(compared: Sequence[Compared]) -> bool:
    """Whether there are batches, of zeros alone."""
    batches = [each for each in compared if each.kind == "inputs" and each.count]
    return bool(batches) and not any(each.says for each in batches)


def _empty_step(compared: Sequence[Compared], steps: int) -> int | None:
    """The first step in which nothing was computed that could differ; 1 if there are no steps."""
    shown = {each.step for each in compared if each.says and each.kind not in _GIVEN}
    return next((step for step in range(1, max(1, steps) + 1) if step not in shown), None)


def _reason(first: Compared) -> str:
    what = {
        "weights": f"the initial weights of {first.of} differ",
        "inputs": f"a batch of step {first.step} differs",
        "outputs": f"what {first.of} returns in step {first.step} differs",
        "loss": f"the loss of step {first.step} differs",
        "gradients": f"the gradients of step {first.step} differ",
        "updates": f"what {first.of} changes in step {first.step} differs",
    }[first.kind]
    if first.mismatch:
        return f"{what}: {first.mismatch}"
    name = f" {first.name}" if first.name else ""
    values = "{:.6g} and {:.6g}".format(*first.values) if first.values else ""
    return f"{what}:{name} by {first.largest:.2g} of its size ({values})"


def _compared(one: FirstSteps, other: FirstSteps, rtol: float) -> Iterator[Compared]:
    """What both programs have: the first loss of one with the first of the other, and so on."""
    mine, theirs = _derived(one.seen), _derived(other.seen)
    pairs = {(kind, n): each for kind, n, each in _ordinals(theirs)}
    before: dict[int, tuple[Seen, Seen]] = {}  # by optimizer: parameters
    gradients: tuple[Seen, Seen] | None = None
    for kind, n, a in _ordinals(mine):
        b = pairs.get((kind, n))
        if b is None:
            continue
        if kind == "parameters":
            if a.number in before and gradients:
                yield _updates(before[a.number], (a, b), gradients, rtol)
            before[a.number] = (a, b)
            continue
        if kind == "weights":
            before[a.number] = (a, b)
        if kind == "gradients":
            gradients = (a, b)
        yield _values(a, b, rtol)


def _ordinals(seen: Sequence[Seen]) -> Iterator[tuple[str, int, Seen]]:
    counts: dict[str, int] = {}
    for each in seen:
        counts[each.kind] = counts.get(each.kind, -1) + 1
        yield each.kind, counts[each.kind], each


def _derived(seen: Sequence[Seen]) -> list[Seen]:
    """Without those inputs of modules that modules have returned before: they are no batches."""
    outputs: list[Array] = []
    left = list[Seen]()
    for each in seen:
        if each.kind == "outputs":
            outputs += [value.elements for value in each.values if value.elements is not None]
        if each.kind == "inputs" and any(
            value.elements is not None
            and any(np.array_equal(value.elements, output) for output in outputs)
            for value in each.values
        ):
            left.append(replace(each, values=()))
            continue
        left.append(each)
    return left


def _paired(a: Seen, b: Seen) -> list[tuple[Value, Value]] | str:
    """Arrays of both: by their names, or in their order. Why not, as a text."""
    named = {value.name: value for value in b.values}
    if len(named) == len(b.values) and named.keys() == {value.name for value in a.values}:
        pairs = [(value, named[value.name]) for value in a.values]
    elif len(a.values) == len(b.values):
        pairs = [*zip(a.values, b.values, strict=True)]
    else:
        return f"{len(a.values)} arrays and {len(b.values)}"
    for one, other in pairs:
        if one.shape != other.shape:
            return f"{one.name or 'an array'} has shape {one.shape} and {other.shape}"
    return [pair for pair in pairs if all(each.elements is not None for each in pair)]


def _elements(value: Value) -> Array:
    assert value.elements is not None  # noqa: S101  # pairs have them
    return value.elements


def _values(a: Seen, b: Seen, rtol: float) -> Compared:
    """Arrays relative to the largest of each; of gradients, some are nothing but noise."""
    kind = cast("Kind", a.kind)
    pairs = _paired(a, b)
    if isinstance(pairs, str):
        return Compared(a.step, kind, a.of, len(a.values), mismatch=pairs)
    largest = [_largest(_elements(value)) for value, _ in pairs]
    share = _NOISE * max(largest, default=0.0) if kind == "gradients" else 0.0
    worst = Compared(a.step, kind, a.of, len(pairs), -1.0)
    for (one, other), size in zip(pairs, largest, strict=True):
        allowed = max(rtol, _ROUNDED * max(one.spacing, other.spacing)) if one.spacing else 0.0
        relative, at = _difference(_elements(one), _elements(other), size + share)
        if relative - allowed > worst.largest - worst.allowed or worst.largest < 0:
            values = None
            if at is not None:
                values = (float(_elements(one)[at]), float(_elements(other)[at]))
            worst = Compared(
                a.step, kind, a.of, len(pairs), relative, one.name, allowed, values=values
            )
    says = any(0 < size < np.inf for size in largest)
    return Compared(
        a.step,
        kind,
        a.of,
        len(pairs),
        max(0.0, worst.largest),
        worst.name,
        worst.allowed,
        says,
        worst.values,
    )


def _largest(elements: Array) -> float:
    finite = elements[np.isfinite(elements)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _difference(a: Array, b: Array, size: float) -> tuple[float, int | None]:
    """The largest difference in units of a size, and where; infinite where one is not finite."""
    if not a.size:
        return 0.0, None
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b)
    apart[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    apart[np.isnan(apart)] = np.inf
    at = int(apart.argmax())
    return float(apart[at] / size) if size and apart[at] else float(apart[at] and np.inf), at


def _updates(
    before: tuple[Seen, Seen], after: tuple[Seen, Seen], gradients: tuple[Seen, Seen], rtol: float
) -> Compared:
    """By what an optimizer changed parameters, all together: of elements whose gradients are more
    than noise, and as far as the parameters' type can show it.
    """
    seen = after[0]
    tables = [_paired(*each) for each in (before, after, gradients)]
    for table in tables:
        if isinstance(table, str):
            return Compared(seen.step, "updates", seen.of, len(seen.values), mismatch=table)
    was, now, slopes = (
        {one.name: (one, other) for one, other in cast("list[tuple[Value, Value]]", table)}
        for table in tables
    )
    most = max(map(_largest, (_elements(one) for one, _ in slopes.values())), default=0.0)
    apart = moved = 0.0
    worst, share, values = "", 0.0, None
    for name in was.keys() & now.keys() & slopes.keys():
        ours, theirs = (_elements(now[name][side]) - _elements(was[name][side]) for side in (0, 1))
        sizes = np.minimum(*(np.abs(_elements(slopes[name][side])) for side in (0, 1)))
        rounding = _ROUNDED * now[name][0].spacing * np.abs(_elements(now[name][0]))
        shown = np.maximum(np.abs(ours), np.abs(theirs)) > rounding
        counted = (sizes > _NOISE * most) & np.isfinite(ours) & np.isfinite(theirs) & shown
        difference = np.maximum(0.0, np.abs(ours - theirs) - rounding)[counted]
        apart += float(difference.sum())
        moved += float(np.abs(ours[counted]).sum())
        if difference.sum() > share:
            worst, share = name, float(difference.sum())
            at = int(difference.argmax())
            values = (float(ours[counted][at]), float(theirs[counted][at]))
    return Compared(
        seen.step,
        "updates",
        seen.of,
        len(now),
        apart / moved if moved else float(apart > 0),
        worst,
        _OF_UPDATES * rtol,
        moved > 0,
        values,
    )


def _unproven(
    one: FirstSteps, other: FirstSteps, compared: Sequence[Compared], steps: int
) -> Iterator[str]:
    yield f"everything after step {steps}" if one.stopped else "what the program does besides steps"
    yield "compiled functions and fused attention: values were computed without them"
    yield "values on a TPU, and in several processes"
    yield from sorted(one.unsure | other.unsure)
    unread = {
        value.name or each.kind
        for each in chain(one.seen, other.seen)
        for value in each.values
        if value.elements is None
    }
    if unread:
        yield f"{', '.join(sorted(unread)[:3])}: not readable as one array"
    if _are_zero(compared):
        yield "batches: all of their values are zero"
    elif steps and not any(each.kind == "inputs" and each.says for each in compared):
        yield "batches: no module that has parameters received one"
