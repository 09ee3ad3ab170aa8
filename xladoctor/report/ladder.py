"""The largest size that fits a TPU: a table of those that were compiled, and a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.foreign import as_json
from xladoctor.quantities import binary_size, duration
from xladoctor.report.interface import Style
from xladoctor.report.text import NUMBERS, Hanging, grid, inset, styled, write
from xladoctor.tpu_check.ladder.climb import Ladder, Rung

_WORDS = {"no_wrap": True}
_VERDICTS = {
    "fits": ("fits", "green"),
    "does_not_fit": ("does not fit", "red"),
    "unknown": ("unknown", "yellow"),
}


def render(ladders: Sequence[Ladder], output: TextIO, style: Style) -> None:
    """Write each table, then a sentence for each."""
    parts: list[RenderableType] = []
    for ladder in ladders:
        parts += [*_table(ladder, style), Text()]
    parts += [Hanging(styled(sentence(each), style, "bold")) for each in ladders]
    write(parts, output, style)


def sentence(ladder: Ladder) -> str:
    """What the largest is, and what the next one lacks."""
    name, largest, above = ladder.variation.name, ladder.largest, ladder.next
    beside = f"{ladder.beside}: " if ladder.beside else ""
    parts = []
    if largest is not None:
        parts.append(f"{name} {largest.value} fits ({_of_capacity(largest)})")
    if above is not None:
        parts.append(f"{above.value if parts else f'{name} {above.value}'} {_above(above)}")
    elif largest is not None:
        parts.append("it is the largest that was asked for")
    return f"{beside}{'; '.join(parts)}."


def _above(rung: Rung) -> str:
    """What a value comes to that does not fit."""
    graph = rung.graph
    if graph.verdict == "unknown":
        return f"is near the limit ({_of_capacity(rung)}): another release may decide otherwise"
    if graph.verdict != "does_not_fit":
        return f"has no verdict{f': {graph.reason}' if graph.reason else ''}"
    if rung.needed_bytes and graph.available_bytes:
        return f"needs {binary_size(rung.needed_bytes - graph.available_bytes)} more"
    if graph.least_bytes and graph.available_bytes and graph.least_bytes > graph.available_bytes:
        return f"needs at least {binary_size(graph.least_bytes - graph.available_bytes)} more"
    return "does not fit"


def _of_capacity(rung: Rung) -> str:
    available = rung.graph.available_bytes
    needed = rung.needed_bytes
    if needed is None or available is None:
        return "the compiler does not say how much it needs"
    (number, unit), whole = binary_size(needed).split(), binary_size(available)
    return f"{number} of {whole}" if whole.endswith(unit) else f"{number} {unit} of {whole}"


def _table(ladder: Ladder, style: Style) -> Iterator[RenderableType]:
    first = ladder.rungs[0].graph
    title = f"{first.name} on {first.compiled_for}"
    title += f", {ladder.beside}" if ladder.beside else ""
    yield styled(title, style, "bold")
    yield styled(f"{ladder.variation.name} was given {ladder.way}", style, "dim")
    if first.compiler:
        yield styled(f"compiled by {first.compiler}", style, "dim")
    names = ladder.variation.name, "operations", "", "memory", "lowered", "compiled"
    rows = [tuple(styled(name, style, "dim") for name in names)]
    groups = groupby(ladder.variation.values, key=lambda value: _left_out(ladder, value))
    for reason, values in groups:
        named = [*values]
        if reason is None:
            rows += [_row(rung, style) for value in named if (rung := ladder.rung(value))]
            continue
        span = named[0] if len(named) == 1 else f"{named[0]} to {named[-1]}"
        cells = span, "", "not asked:", reason, "", ""
        rows.append(tuple(styled(cell, style, "dim") for cell in cells))
    yield inset(grid(rows, NUMBERS, NUMBERS, _WORDS, NUMBERS, NUMBERS, NUMBERS))


def _left_out(ladder: Ladder, value: str) -> str | None:
    return None if ladder.rung(value) else ladder.why_not(value)


def _row(rung: Rung, style: Style) -> tuple[Text, ...]:
    graph = rung.graph
    memory = _of_capacity(rung) if rung.needed_bytes else ""
    compiled = duration(graph.compile_ns / 1e9) if graph.compiler else ""
    operations = f"{graph.operations:,}" if graph.operations else ""
    verdict, look = _VERDICTS.get(graph.verdict, ("no verdict", ""))
    return (
        styled(rung.value, style),
        Text(operations),
        styled(verdict, style, look),
        Text(memory),
        Text(duration(rung.lowered_s)),
        Text(f"{compiled}, earlier" if graph.cached else compiled),
    )


def render_json(ladders: Sequence[Ladder], output: TextIO, _: Style) -> None:
    """Write the same as an object: sizes in bytes, times in seconds."""
    output.write(as_json({"ladders": [_record(each) for each in ladders]}))


def _record(ladder: Ladder) -> dict[str, Any]:
    first, largest, above = ladder.rungs[0].graph, ladder.largest, ladder.next
    return {
        "name": ladder.variation.name,
        "given": str(ladder.way),
        "beside": ladder.beside or None,
        "graph": first.name,
        "compiled_for": first.compiled_for,
        "largest": largest and largest.value,
        "next": above and above.value,
        "says": sentence(ladder),
        "values": [_value(ladder, value) for value in ladder.variation.values],
    }


def _value(ladder: Ladder, value: str) -> dict[str, Any]:
    rung = ladder.rung(value)
    if rung is None:
        return {"value": value, "verdict": None, "not_asked": ladder.why_not(value)}
    graph = rung.graph
    return {
        "value": value,
        "verdict": graph.verdict,
        "reason": graph.reason or None,
        "operations": graph.operations or None,
        "needed_bytes": rung.needed_bytes,
        "available_bytes": graph.available_bytes,
        "lowered_s": round(rung.lowered_s, 3),
        "compiled_s": round(graph.compile_ns / 1e9, 3) if graph.compiler else None,
    }
