"""Finds the one cause among all differences between two graphs."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from xladoctor.causes.blocks import by_blocks, by_size
from xladoctor.causes.contrast import Contrast
from xladoctor.causes.graphs import Graphs
from xladoctor.causes.input_cause import by_inputs, input_changed
from xladoctor.causes.inputs import layouts
from xladoctor.causes.interface import NOWHERE, Cause, Compilation, Line
from xladoctor.causes.operation_cause import by_hidden, by_operations, by_replacement, times_over


def cause_of(
    contrast: Contrast, before: Compilation, after: Compilation, dynamic: Set[Line], graphs: Graphs
) -> Cause:
    """The cause of the later of two graphs.

    Sharding comes first, as each device has a part of the inputs. Then come inputs, from which
    differences in operations follow.

    Args:
        contrast: the graphs of the two compilations, with their differences.
        dynamic: lines whose results have a size that depends on the data.
        graphs: the graphs, for the operands of operations.
    """
    old, new = contrast.before, contrast.after
    lined = graphs.has_lines(old) or graphs.has_lines(new)
    cause = (
        _by_placement(contrast, "sharding")
        or (None if contrast.inputs.sent else by_blocks(old, new, after, graphs))
        or by_inputs(contrast.inputs, dynamic)
        or (None if lined else by_size(old, new))
        or (by_operations(contrast, graphs) if lined else None)
        or by_replacement(contrast)
        or _by_counts(contrast, before, after)
        or _by_number_of_instructions(contrast)
        or _by_layout(contrast)
        or _by_placement(contrast, *contrast.before.placement)
        or by_hidden(contrast)
        or (None if lined and graphs.vocabulary.numbers else _by_literals(contrast))
        or _by_other_inputs(contrast)
        or Cause("unknown")
    )
    return replace(cause, basis="hlo", against=before.index)


def _by_placement(contrast: Contrast, *names: str) -> Cause | None:
    """Donated inputs, devices or sharding that differ."""
    for name in names:
        was, now = contrast.before.placement[name], contrast.after.placement[name]
        if was != now:
            return Cause("placement", op=name, was=_listed(was), now=_listed(now))
    return None


def _listed(values: tuple[str, ...] | None) -> str:
    return ", ".join(values or ()) or "none"


def _by_counts(contrast: Contrast, before: Compilation, after: Compilation) -> Cause | None:
    """Inputs or outputs that were added or removed, with the line of one of them.

    If a line has more or fewer operations as well as inputs, the operations are the reason: a layer
    that is left out takes its weights with it.
    """
    changes = contrast.inputs
    outputs = (before.outputs, after.outputs)
    alike = None in outputs or outputs[0] == outputs[1]
    if alike and len(changes.added) == len(changes.removed):
        return None
    located = [
        parameter for parameter in (*changes.added, *changes.removed) if parameter.place.file
    ]
    lines = {parameter.place.spot for parameter in located if parameter.shape}
    for change in contrast.operations:
        if change.place.spot in lines and change.significant:
            return times_over(change)
    return Cause(
        "input_count",
        was=before.numbers,
        now=after.numbers,
        role="used",
        place=located[0].place if located else NOWHERE,
    )


def _by_number_of_instructions(contrast: Contrast) -> Cause | None:
    """A different number of the same operation."""
    counted = [change for change in contrast.operations if change.place.file and change.significant]
    return times_over(max(counted, key=lambda change: abs(change.more))) if counted else None


def _by_literals(contrast: Contrast) -> Cause | None:
    """Other constants, if their operations are unknown: there are no lines, or the framework has no
    operation for a number.
    """
    literals = [row for row in contrast.instructions if row.token.opcode == "constant"]
    was = [row.token.value for row in literals if row.was > row.now]
    now = [row.token for row in literals if row.now > row.was]
    if not was or not now:
        return None
    return Cause(
        "constant",
        was=was[0],
        now=now[0].value,
        role="used" if now[0].place.file else None,
        place=now[0].place,
    )


def _by_other_inputs(contrast: Contrast) -> Cause | None:
    """Inputs in the place of others, where some graphs of the line have both: the line launches
    several functions.
    """
    pairs = zip(contrast.inputs.removed, contrast.inputs.added, strict=False)
    return next(
        (input_changed(was, now, "input_shape") for was, now in pairs if was.shape != now.shape),
        None,
    )


def _by_layout(contrast: Contrast) -> Cause | None:
    pair = layouts(contrast.before, contrast.after)
    if pair is None:
        return None
    was, now = (parameter.text_with_layout for parameter in pair)
    return replace(input_changed(*pair, "input_type"), was=was, now=now)
