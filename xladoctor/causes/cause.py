"""From the differences of two graphs to the one that makes them two."""

from __future__ import annotations

from typing import Any

from xladoctor.causes.changes import (
    Change,
    InputChanges,
    layouts,
    numbers_by_line,
    significant,
)
from xladoctor.causes.graphs import Graph, Parameter

Row = dict[str, Any]
_LARGE = 8  # instructions before optimization: more than shapes or numbers alone bring about


def input_changed(before: Parameter, after: Parameter, kind: str) -> Row:
    """An input that is of the given ``kind`` of change, or of another type but the same shape."""
    old, new = before.shape, after.shape
    differing = [d for d, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
    dimension = differing[0] if differing and len(old) == len(new) else None
    return {
        "kind": "input_type" if before.type != after.type and not differing else kind,
        "parameter": after.number, "was": before.text, "now": after.text,
        "dimension": dimension, "value": None if dimension is None else new[dimension],
        "role": "made" if after.sent else "used", **site(after),
    }  # fmt: skip


def site(one: Parameter | Change) -> Row:
    """The columns of its line."""
    return one.place._asdict()


def by_operations(
    before: Graph, after: Graph, changed: InputChanges, changes: list[Change]
) -> Row | None:
    """The change that was lowered first among those that have a line."""
    located = [change for change in changes if change.place.file]
    telling = [change for change in located if change.nature != "count" and _tells(change)]
    if any(change.nature == "shape" for change in telling):
        telling = [change for change in telling if not _follows_a_size(change)]
    telling.sort(key=lambda change: not change.origin)
    first = telling[0] if telling else None
    nature = first.nature if first else None
    if nature != "shape" and changed.scalars_alone:
        cause = _by_numbers(before, after, telling, located)
        if cause:
            return cause
    resized = _resized(before, after, located)
    if resized:
        return resized
    if first is None or (nature == "shape" and (changed.added or changed.removed)):
        return None
    if nature == "shape":
        return _sized(first, changes)
    if nature == "value":
        return _constant(first, changes)
    return _replaced(first)


def _tells(change: Change) -> bool:
    """Whether a change is one of the program's, not of the optimization's alone."""
    return significant(change) or (change.nature == "value" and change.op == "prim::Constant")


def _follows_a_size(change: Change) -> bool:
    """Whether it is a number that the operation itself derives from a size: the n of a mean."""
    texts = (*change.was, *change.now)
    return change.nature == "value" and change.op != "prim::Constant" and all(
        " constant(" in text for text in texts
    )  # fmt: skip


def _by_numbers(
    before: Graph, after: Graph, telling: list[Change], located: list[Change]
) -> Row | None:
    """A Python number, where the graphs before optimization can have had the same operations.

    Optimization simplifies what a number makes trivial. A graph that did not shrink had nothing
    taken out, and one that did not grow nothing put in, whatever is left of them afterwards.
    """
    gone, come = numbers_by_line(before, after)
    counted = [change for change in located if significant(change)]
    grown, more = after.size - before.size, sum(one.now_count - one.was_count for one in counted)
    natures = {change.nature for change in telling}
    if natures >= {"added", "removed"}:
        return None
    same = (
        abs(grown) <= 2 * (len(gone) + len(come))
        or ("added" not in natures and grown >= 0 >= more)
        or ("removed" not in natures and grown <= 0 <= more)
    )
    if not same:
        return None
    if telling and telling[0].nature == "value":
        return _constant(telling[0], located)
    lines = {one.place[:2] for one in (*gone, *come)}
    simplified = telling[0] if telling else _foremost(counted)
    if simplified and (not lines or (not telling and simplified.place[:2] not in lines)):
        return {"kind": "constant", "op": simplified.op, "role": "used", **site(simplified)}
    if gone or come:
        return _special_scalar(gone, come)
    return {"kind": "constant"} if counted else None


def _foremost(counted: list[Change]) -> Change | None:
    """The operation with most of what differs in number; the others follow from it."""
    differences = [abs(change.now_count - change.was_count) for change in counted]
    most = max(differences, default=0)
    return counted[differences.index(most)] if most > sum(differences) / 2 else None


def _first(texts: list[str]) -> str | None:
    return texts[0] if texts else None


def _constant(change: Change, changes: list[Change]) -> Row:
    op = change.op
    if op == "prim::Constant":  # the number itself: named by the operation that uses it
        users = [
            one.op for one in changes if one.place[:2] == change.place[:2] and significant(one)
        ]
        op = users[0] if users else ""
    return {"kind": "constant", "op": op or None, "was": _number(change.was),
            "now": _number(change.now), "role": "used", **site(change)}  # fmt: skip


def _number(texts: list[str]) -> str | None:
    """The value of a constant alone, or the attributes of an operation."""
    text = _first(texts)
    if text is None:
        return None
    if "constant(" in text:
        return text.split("constant(", 1)[1].removesuffix(")")
    return text.split(" ", 2)[-1]


def _resized(before: Graph, after: Graph, located: list[Change]) -> Row | None:
    """Operations that were put in or left out, as the size before optimization proves."""
    grown = after.size - before.size
    if abs(grown) < _LARGE:
        return None
    counted = [change for change in located if significant(change)]
    along = [one for one in counted if (one.now_count - one.was_count) * grown > 0]
    if not along:
        return None
    first = next((one for one in counted if one.nature in ("added", "removed")), along[0])
    return _times_over(first) if first.was_count and first.now_count else _replaced(first)


def _replaced(change: Change) -> Row:
    return {"kind": "operations", "op": change.op, "was": _first(change.was),
            "now": _first(change.now), "role": "used", **site(change)}  # fmt: skip


def _sized(change: Change, changes: list[Change]) -> Row:
    """A result of another size: made so by a number, or of a tensor that Python makes so large."""
    was, now = _shape(change.was), _shape(change.now)
    if was == now or (change.origin and not change.makes):
        return {**_constant(change, changes), "was": was, "now": now}
    if was and now and was.partition("[")[2] == now.partition("[")[2]:  # another type alone
        return {"kind": "operations", "op": change.op, "was": was, "now": now, "role": "used",
                **site(change)}  # fmt: skip
    return {"kind": "input_shape", "op": change.op, "was": was, "now": now,
            **_dimension(was, now), "role": "made", **site(change)}  # fmt: skip


def _shape(texts: list[str]) -> str | None:
    text = _first(texts)
    return text.split(" ", 1)[0] if text else None


def _dimension(was: str | None, now: str | None) -> Row:
    if not was or not now:
        return {}
    sizes = [text[text.index("[") + 1 : -1].split(",") for text in (was, now)]
    if len(sizes[0]) != len(sizes[1]) or "" in (*sizes[0], *sizes[1]):
        return {}
    for dimension, (old, new) in enumerate(zip(*sizes, strict=True)):
        if old != new:
            return {"dimension": dimension, "value": int(new)}
    return {}


def _special_scalar(gone: list[Parameter], come: list[Parameter]) -> Row:
    """A Python number that is an input no more, as torch_xla bakes in 0 and 1 and merges equals."""
    places = [one for one in (*gone, *come) if one.place.file]
    place = places[0] if places else (*gone, *come)[0]
    was_input = place in gone
    return {"kind": "constant", "was": "input" if was_input else "constant",
            "now": "constant" if was_input else "input", "role": "used", **site(place)}  # fmt: skip


def by_placement(before: Graph, after: Graph, *names: str) -> Row | None:
    """Donated inputs, devices or sharding (or those of ``names`` alone) that differ."""
    for name, value in before.placement.items():
        if value != after.placement[name] and (not names or name in names):
            return {"kind": "placement", "op": name, "was": _listed(value),
                    "now": _listed(after.placement[name])}  # fmt: skip
    return None


def by_the_rest(before: Graph, after: Graph, changes: list[Change]) -> Row:
    """How often an operation is there, layouts, placement, the backward pass, or nothing seen."""
    counted = [change for change in changes if change.place.file and significant(change)]
    if counted:
        return _times_over(
            max(counted, key=lambda change: abs(change.now_count - change.was_count))
        )
    layout = layouts(before, after)
    if layout:
        old, new = layout
        return {**input_changed(old, new, "input_type"), "kind": "input_type",
                "was": f"{old.text}{_layout(old)}", "now": f"{new.text}{_layout(new)}"}  # fmt: skip
    placed = by_placement(before, after)
    if placed:
        return placed
    hidden = [change for change in changes if _tells(change)]
    values = [change for change in hidden if change.nature == "value"]
    if values:
        return _constant(values[0], changes)
    if hidden:
        first = hidden[0]
        return {"kind": "operations", "op": first.op, "was": _first(first.was),
                "now": _first(first.now)}  # fmt: skip
    return {"kind": "unknown"}


def _times_over(change: Change) -> Row:
    times = {"was": _times(change.was_count), "now": _times(change.now_count)}
    if change.was_count == change.now_count:
        times = {}
    return {"kind": "operations", "op": change.op, **times, "role": "used", **site(change)}


def _times(count: int) -> str:
    return f"{count} instruction{'' if count == 1 else 's'}"


def _layout(parameter: Parameter) -> str:
    return "{" + ",".join(map(str, parameter.layout or ())) + "}"


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value or "none")


def by_counts(row: Row, old: Row, changed: InputChanges, changes: list[Change]) -> Row | None:
    """Inputs or outputs that came or went, with the line of one of them.

    Where a line has more or fewer operations along with its inputs, those are the reason: a layer
    that is left out takes its weights with it.
    """
    came_or_went = [*changed.added, *changed.removed]
    outputs = (old["outputs"], row["outputs"])
    alike = None in outputs or outputs[0] == outputs[1]
    if alike and len(changed.added) == len(changed.removed):
        return None
    lines = {one.place[:2] for one in came_or_went if one.shape and one.place.file}
    for change in changes:
        if change.place[:2] in lines and significant(change):
            return _times_over(change)
    place = next((one for one in came_or_went if one.place.file), None)
    return {"kind": "input_count", **numbers(old, row), "role": "used",
            **(site(place) if place else {})}  # fmt: skip


def numbers(old: Row, new: Row) -> Row:
    """What two compilations had as inputs and outputs, in words."""
    return {side: number_of(row) for side, row in (("was", old), ("now", new))}


def number_of(row: Row) -> str | None:
    """What a compilation had as inputs and outputs, in words."""
    if row["inputs"] is None or row["outputs"] is None:
        return None
    return ", ".join(
        f"{row[name]} {name[:-1] if row[name] == 1 else name}" for name in ("inputs", "outputs")
    )
