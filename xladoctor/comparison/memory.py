"""What programs hold at their peaks in two runs."""

from __future__ import annotations

from collections import defaultdict

from xladoctor.comparison.interface import HeldChange, MemoryChange
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.memory_use import HeldMemory, ProgramMemory

_LEAST = 0.01  # of the larger peak, by which what is listed differs


def memory_changes(a: Diagnosis, b: Diagnosis) -> list[MemoryChange]:
    """The programs of both runs by their names, in the order of B's."""
    if a.memory is None or b.memory is None:
        return []
    before = {each.name: each for each in reversed(a.memory.programs)}
    now = {each.name: each for each in reversed(b.memory.programs)}
    return [
        MemoryChange(name, before[name].bytes, each.bytes, _changes(before[name], each))
        for name, each in reversed(now.items())
        if name in before
    ]


def _changes(a: ProgramMemory, b: ProgramMemory) -> list[HeldChange]:
    """What differs, most first. A line is known by its text, as its number may change."""
    found: dict[tuple[str, str], list[tuple[HeldMemory, int]]] = defaultdict(list)
    for side, program in enumerate((a, b)):
        for each in program.held:
            at = each.location
            line = at and (at.source or f"{at.file}:{at.line}").strip()
            found[each.role, line or each.what.partition(" ")[0]].append((each, side))
    changes = []
    for (role, _), members in found.items():
        latest = members[-1][0]
        sizes = [sum(each.bytes for each, side in members if side == of) for of in (0, 1)]
        changes.append(HeldChange(role, latest.what, latest.location, *sizes))
    least = _LEAST * max(a.bytes, b.bytes)
    listed = [each for each in changes if abs(each.b_bytes - each.a_bytes) >= least]
    return sorted(listed, key=lambda each: -abs(each.b_bytes - each.a_bytes))
