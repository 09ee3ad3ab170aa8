"""What a program holds in the device's memory: at the peak, by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TextIO

from rich.console import RenderableType
from rich.text import Text

from xladoctor.diagnosis.memory_use import GrowingMemory, HeldMemory, Memory, ProgramMemory
from xladoctor.foreign import as_json
from xladoctor.quantities import binary_size, counted, percent
from xladoctor.report.interface import Style
from xladoctor.report.listing import ROOM
from xladoctor.report.text import (
    FOLDED,
    NUMBERS,
    Hanging,
    grid,
    headed,
    inset,
    plain,
    shortened,
    styled,
    write,
)
from xladoctor.repository import short

#: What roles are called in the plural, in the order of sums.
ROLES = {
    "parameters": "parameters",
    "optimizer state": "optimizer state",
    "argument": "arguments",
    "activation": "activations for the backward pass",
    "temporary": "temporary values",
    "result": "results",
    "constant": "constants",
    "unused": "unused, between others",
}
_LEAST = 0.005  # share of the peak; lines are listed from there
#: Of the largest program; others are listed from there.
NEXT = 0.01


def render(memory: Memory, limit: int, output: TextIO, style: Style) -> None:
    """Write what the largest program holds, line by line, and the peaks of the others.

    Args:
        limit: how many lines of it to show; 0 for all.
    """
    parts = [*_peaks(memory.programs, limit, style)] if memory.programs else []
    if memory.growth is not None:
        parts += _growth(memory, memory.growth, style)
    write(parts, output, style)


def _peaks(programs: Sequence[ProgramMemory], limit: int, style: Style) -> Iterator[RenderableType]:
    first, *others = programs
    yield from (
        headed(title(first), facts(first), style),
        inset(styled(sums(first), style)),
        Text(),
        inset(_lines(first, limit, style)),
    )
    if others := [each for each in others if each.bytes >= NEXT * first.bytes]:
        rows = [
            (Text(binary_size(each.bytes)), styled(each.name, style), styled(place(each), style))
            for each in others
        ]
        yield from (Text(), Text("Other programs", style="bold"), inset(grid(rows, NUMBERS)))
    if text := caution(first):
        yield from (Text(), Hanging(styled(text, style, "dim")))


def _growth(
    memory: Memory, growth: Sequence[GrowingMemory], style: Style
) -> Iterator[RenderableType]:
    if memory.programs:
        yield Text()
    yield styled(growth_title(memory), style, "bold")
    rows = [
        (styled(words, style), Text(line(each), "cyan"), styled(rate, style))
        for each in growth
        for words, rate in [growing(each)]
    ]
    if rows:
        yield inset(grid(rows, FOLDED, {"no_wrap": True}, FOLDED))


def growth_title(memory: Memory) -> str:
    """Whether anything grows, and until when that was looked for."""
    if memory.looked_until is None:
        return "What grows between steps: not known (too few steps were looked at)"
    if not memory.growth:
        return f"Nothing grew between steps, until step {memory.looked_until}"
    return f"Grows with each step, until step {memory.looked_until}"


def growing(each: GrowingMemory) -> tuple[str, str]:
    """What holds the arrays, and how fast they become more."""
    held = f", {counted(each.arrays, 'array')} in the end" if each.arrays else ""
    size = each.bytes_per_step
    rate = f"{each.arrays_per_step:.3g} arrays" if size is None else binary_size(round(size))
    limit = f"; {each.limit}" if each.limit else ""
    return each.holder or "an object that was not found", f"{rate} a step{held}{limit}"


def title(program: ProgramMemory) -> str:
    """A program and its peak."""
    return f"{program.name}: {binary_size(program.bytes)} at its peak"


def facts(program: ProgramMemory) -> list[str]:
    """Where a program is called, how often it was compiled, and for what."""
    variants = f"the largest of {program.variants}" if program.variants > 1 else ""
    return [fact for fact in (place(program), variants, program.device) if fact]


def place(program: ProgramMemory) -> str:
    """The line that calls a program; empty if unknown."""
    at = program.location
    return f"{short(at.file)}:{at.line}" if at else ""


def sums(program: ProgramMemory) -> str:
    """The bytes of each role."""
    found = Counter[str]()
    for each in program.held:
        found[each.role] += each.bytes
    shown = [
        f"{name} {binary_size(found[role])}"
        for role, name in ROLES.items()
        if found[role] >= _LEAST * program.bytes
    ]
    return ", ".join(shown)


def caution(program: ProgramMemory) -> str:
    """What the numbers of a CPU are worth elsewhere; empty for others."""
    if program.device != "CPU":
        return ""
    return (
        "As planned by the compiler for this CPU. Arguments, results and what the backward pass"
        " needs take about as much on other devices; temporary values do not. For a TPU, its own"
        " compiler says it: xladoctor tpu-check."
    )


def shown(program: ProgramMemory) -> list[HeldMemory]:
    """What takes a noticeable part of the peak."""
    return [each for each in program.held if each.bytes >= _LEAST * program.bytes]


def line(held: HeldMemory | GrowingMemory) -> str:
    """Where it is made; empty if unknown."""
    return f"{short(held.location.file)}:{held.location.line}" if held.location else ""


def what(held: HeldMemory) -> str:
    """The argument or operation, and how many arrays there are."""
    text = held.what
    if held.arrays > 1:
        joined = " of " if text.endswith("…") else ", largest "
        text = f"{counted(held.arrays, 'array')}{joined if text else ''}{text}"
    return (
        f"{text}; results take {'their' if held.arrays > 1 else 'its'} place"
        if held.reused
        else text
    )


def _lines(program: ProgramMemory, limit: int, style: Style) -> RenderableType:
    held = shown(program)
    rows: list[Sequence[Text]] = []
    for each in held[: limit or None]:
        sizes = Text(binary_size(each.bytes)), Text(percent(each.bytes / program.bytes))
        role = styled(each.role, style)
        at = Text(shortened(plain(line(each), style), style.width // 3, style), "cyan")
        words = styled(what(each), style)
        if style.width < ROOM:
            text = Text(" ").join(part for part in (role, at, words) if part)
            rows.append((*sizes, text))
        else:
            rows.append((*sizes, role, at, words))
    if more := len(held) - len(rows):
        rows.append((Text(""), Text(""), Text(f"{more} more", style="dim")))
    return grid(rows, NUMBERS, NUMBERS, FOLDED, *[{"no_wrap": True}, FOLDED][: len(rows[0]) - 3])


def render_json(memory: Memory, output: TextIO, style: Style) -> None:
    """Write all of it, sizes in bytes."""
    output.write(as_json(asdict(memory), ascii_only=not style.unicode))
