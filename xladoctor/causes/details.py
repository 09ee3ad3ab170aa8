"""Completes causes with details: instructions, users of numbers, lines of growth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from xladoctor.causes.graphs import Graphs
from xladoctor.causes.interface import NOWHERE, Cause, Causes, Change, Changes, Earlier, Line, Place

_MOST_UNKNOWN = 20  # unknown causes that are compared instruction by instruction


def with_first_differences(causes: Causes, compared: Earlier, graphs: Graphs) -> Causes:
    """Name the first instruction that differs, if two graphs show nothing else."""
    unknown = (c for c, cause in causes.items() if cause.kind == "unknown" and c in compared)
    shown = {}
    for compilation in islice(unknown, _MOST_UNKNOWN):
        before, after = graphs.of(compared[compilation]), graphs.of(compilation)
        if before and after:
            was, now = graphs.first_difference(before, after)
            shown[compilation] = replace(causes[compilation], was=was, now=now)
    return {**causes, **shown}


def with_users(causes: Causes, graphs: Graphs) -> Causes:
    """Name the operation that uses a changing number, if the number has no operation itself."""
    nameless = [
        compilation
        for compilation, cause in causes.items()
        if cause.kind == "constant" and cause.place.file and not cause.op
    ]
    if not nameless:
        return causes
    users = graphs.users_of_numbers()
    ops = {
        c: users.get((c.process, graph.program, causes[c].place.spot))
        for c in nameless
        if (graph := graphs.of(c))
    }
    return {**causes, **{c: replace(causes[c], op=op) for c, op in ops.items()}}


def with_makers(causes: Causes, graphs: Graphs) -> Causes:
    """Name the line that made a state of another size, which a step left behind.

    The line so far, its first use in the next step, is kept beside it.
    """
    used = {
        c: cause
        for c, cause in causes.items()
        if cause.kind == "input_shape"
        and cause.basis == "hlo"
        and cause.role == "used"
        and cause.parameter is not None
    }
    makers = graphs.makers(
        (c.process, cause.now, cause.value)
        for c, cause in used.items()
        if cause.now and cause.value is not None
    )
    lines: dict[tuple[int, Line], list[Place]] = defaultdict(list)
    for c, cause in used.items():
        places = makers.get((c.process, cause.now or ""), [NOWHERE])
        itself = any(place.spot == cause.place.spot for place in places)
        lines[c.process, cause.place.spot].append(cause.place if itself else places[-1])
    main = {line: Counter(places).most_common(1)[0][0] for line, places in lines.items()}
    made = {
        c: maker for c, cause in used.items() if (maker := main[c.process, cause.place.spot]).file
    }
    return {c: _made_at(cause, made[c]) if c in made else cause for c, cause in causes.items()}


def _made_at(cause: Cause, maker: Place) -> Cause:
    used = cause.place if cause.place.spot != maker.spot else NOWHERE
    return replace(
        cause,
        role="made",
        place=maker,
        used_file=used.file,
        used_line=used.line,
        used_function=used.function,
    )


def with_growth(causes: Causes, changes: Changes) -> Causes:
    """Name the line of the first additional operation of a graph that grows."""
    return {
        c: _at_growth(cause, changes.get(c, ())) if cause.kind == "growing" else cause
        for c, cause in causes.items()
    }


def _at_growth(cause: Cause, changes: Sequence[Change]) -> Cause:
    grown = next((change for change in changes if change.place.file and change.more > 0), None)
    return replace(cause, place=grown.place, op=grown.op, role="used") if grown else cause
