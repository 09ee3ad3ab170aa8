"""Filters of messages: what several rules say of their values in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def places(values: Iterable[Mapping[str, Any]]) -> str:
    """``a.py:3, b.py:4``: places of structs with a file and a line; with ``count``, how often."""
    return ", ".join(
        f"{value['file']}:{value['line']}"
        + (f" ({value['count']} times)" if "count" in value else "")
        for value in values
    )


def shares(values: Iterable[Mapping[str, Any]]) -> str:
    """``a.py:3 (60%), b.py:4 (20%)``, as table ``hottest_lines`` has them."""
    return ", ".join(f"{value['place']} ({100 * value['share']:.0f}%)" for value in values)


def part_of_step(cause: Mapping[str, Any]) -> str:
    """A sentence on how much of a step the function takes; empty if that is not known."""
    if not cause["frame_ms"]:
        return ""
    step, function = cause["step_ms"], cause["frame_ms"]
    return f" A step without compiling takes {step:.3g} ms, the function {function:.3g} ms of it."
