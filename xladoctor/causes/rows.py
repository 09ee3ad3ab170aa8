"""Turns causes and changes into the columns of their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from xladoctor.causes.interface import Cause, Causes, Change, Compilation, Place
from xladoctor.ingest.interface import Columns

_MOST_LINES = 8  # instructions shown per operation


def recompilation(causes: Causes) -> Columns:
    """A row for each cause."""
    names = [field.name for field in fields(Cause) if field.name != "place"]
    return {
        **_numbers([*causes]),
        **_places([cause.place for cause in causes.values()]),
        **{name: [getattr(cause, name) for cause in causes.values()] for name in names},
    }


def graph_change(changes: Mapping[Compilation, Sequence[Change]]) -> Columns:
    """A row for each change, in the order of lowering."""
    rows = [(c, nth, change) for c, of_one in changes.items() for nth, change in enumerate(of_one)]
    kept = [change for _, _, change in rows]
    return {
        **_numbers([compilation for compilation, _, _ in rows]),
        "nth": [nth for _, nth, _ in rows],
        **_places([change.place for change in kept]),
        **{
            name: [getattr(change, name) for change in kept]
            for name in ("nature", "op", "was_count", "now_count")
        },
        "was": [_text(change.was) for change in kept],
        "now": [_text(change.now) for change in kept],
    }


def _numbers(compilations: Sequence[Compilation]) -> Columns:
    return {"process": [c.process for c in compilations], "index": [c.index for c in compilations]}


def _places(places: Sequence[Place]) -> Columns:
    return {name: [getattr(place, name) for place in places] for name in Place._fields}


def _text(instructions: Sequence[str]) -> str | None:
    return "\n".join(instructions[:_MOST_LINES]) or None
