"""How programs divide their arrays over devices, and what moves for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.diagnosis.finding import Location
from xladoctor.diagnosis.sharding_use import DividedArray, DividedProgram, Movement
from xladoctor.foreign import as_json
from xladoctor.quantities import binary_size, counted
from xladoctor.report.interface import Style
from xladoctor.report.listing import ROOM
from xladoctor.report.text import (
    FOLDED,
    NUMBERS,
    Hanging,
    grid,
    headed,
    inset,
    shortened,
    styled,
    write,
)
from xladoctor.repository import short

#: Why devices communicate, in words.
REASONS = {
    "written": "called by the program",
    "asked": "resharded as the program asks",
    "gradients": "sum of gradients",
    "sums": "sum over a divided dimension",
    "argument": "divided argument made whole",
    "result": "result resharded",
    "neighbours": "parts that others have",
    "reshard": "resharded between operations",
}
Rows = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
NONE = "each program of this run is for one device, or none sends another anything"
_LEAST = 0.01  # share of all bytes; arrays are listed from there
_LINE = 3  # column of a line, or of how an array is divided: neither is broken
_MOST = 8  # programs
#: Columns of numbers.
NUMBERED = ("bytes", "a device", "copies", "times")


def render(shardings: Sequence[DividedProgram], limit: int, output: TextIO, style: Style) -> None:
    """Write the program that moves most, ``limit`` rows of a table (0: all), then the others."""
    if not shardings:
        write([Text(NONE)], output, style)
        return
    first, *others = listed(shardings)
    parts: list[RenderableType] = [headed(title(first), facts(first), style)]
    for name, head, rows in tables(first):
        parts += [Text(), Text(name, "bold"), inset(_table(head, rows, limit, style))]
    if not first.moved:
        parts += [Text(), Text("Nothing moves between devices.")]
    if others:
        said = [headed(title(each), facts(each)[1:], style) for each in others]
        parts += [Text(), Text("Other programs", style="bold"), *map(Hanging, said)]
    write(parts, output, style)


def listed(shardings: Sequence[DividedProgram]) -> list[DividedProgram]:
    """The program that moves most, and others of which there is something to say."""
    first, *others = shardings
    return [first, *(each for each in others if each.moved or not first.moved)][:_MOST]


def title(program: DividedProgram) -> str:
    """A program, and what a device receives."""
    per = "a step" if program.runs_a_step else "a run"
    total, part = (_amount(size, program) for size in (program.bytes, program.resharded))
    said = f"{program.name}: a device receives {total} {per}" if program.moved else program.name
    return f"{said}, {part} of it resharding" if program.resharded else said


def facts(program: DividedProgram) -> list[str]:
    """Its mesh, as ``data=4 × model=2, 8 devices``, its line, and how often it runs."""
    axes = program.mesh.replace(", ", " × ")
    rate, devices = program.runs_a_step, counted(program.devices, "device")
    mesh = f"{axes}, {devices}" if axes else f"{devices}, names of axes not known"
    rare = {None: "runs a step not known", 0.0: "runs once", 1.0: ""}
    often = rare.get(rate, f"{rate or 0:.3g} runs a step")
    compiled = f"the one used most of {program.variants}" if program.variants > 1 else ""
    return [fact for fact in (mesh, line(program.location), often, compiled) if fact]


def line(location: Location | None) -> str:
    """``train.py:41``; empty if unknown."""
    return f"{short(location.file)}:{location.line}" if location else ""


def tables(program: DividedProgram) -> Iterator[Rows]:
    """A title, names of columns, and rows, of arrays and of what moves; first come numbers."""
    least = _LEAST * sum(each.bytes for each in program.arrays)
    large = [each for each in program.arrays if each.bytes >= least]
    rows = [array(each) for each in sorted(large, key=lambda each: (each.role, -each.bytes))]
    if smaller := sum(each.arrays for each in program.arrays) - sum(each.arrays for each in large):
        rows.append(("", "", "", "", f"{counted(smaller, 'smaller array')}"))
    if rows:
        yield "Large arrays", ("bytes", "a device", "copies", "divided", "array"), rows
    if program.moved:
        per = "step" if program.runs_a_step else "run"
        heads = ("bytes", "times", "operation", "line", "why")
        yield f"What moves in a {per}", heads, [moved(each, program) for each in program.moved]


def array(each: DividedArray) -> tuple[str, ...]:
    """The row of an argument or result."""
    of = f"{each.type}[{','.join(map(str, each.shape))}]"
    name = f"{each.role if each.path == of else each.path} {of}"
    several = f" × {each.arrays}" if each.arrays > 1 else ""
    given = f"; the argument is {each.given}" if each.given else ""
    sizes = binary_size(each.bytes), binary_size(each.device_bytes), f"{each.copies}"
    return (*sizes, each.spec, f"{name}{several}{given}")


def moved(each: Movement, program: DividedProgram) -> tuple[str, ...]:
    """The row of an operation in which devices communicate."""
    times = f"{each.times * (program.runs_a_step or 1):.3g}"
    over = f"{each.kind} over {each.axes}" if each.axes else each.kind
    return (_amount(each.bytes, program), times, over, line(each.location), REASONS[each.reason])


def _amount(size: int, program: DividedProgram) -> str:
    return binary_size(round(size * (program.runs_a_step or 1)))


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], limit: int, style: Style
) -> RenderableType:
    cells = [
        [*row[:_LINE], shortened(row[_LINE], style.width // 3, style), row[-1]]
        for row in rows[: limit or None]
    ]
    if more := len(rows) - len(cells):
        cells.append(["", "", "", "", f"{more} more"])
    shown = [[styled(cell, style) for cell in row] for row in cells]
    shown.insert(0, [Text(name, "dim") for name in head])
    numbers = sum(name in NUMBERED for name in head)
    if style.width < ROOM:
        shown = [[*row[:numbers], Text(" ").join(filter(None, row[numbers:]))] for row in shown]
        return grid(shown, *[NUMBERS] * numbers, FOLDED)
    rest = [FOLDED, {"no_wrap": True}][numbers - _LINE - 1 :]
    return grid(shown, *[NUMBERS] * numbers, *rest, FOLDED)


def render_json(shardings: Sequence[DividedProgram], output: TextIO, style: Style) -> None:
    """Write all of it, sizes in bytes."""
    output.write(as_json([asdict(each) for each in shardings], ascii_only=not style.unicode))
