"""What differs in shardings and collectives: between two runs, or a run and a baseline."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from xladoctor.diagnosis.finding import Location
from xladoctor.diagnosis.sharding_use import DividedProgram, Movement
from xladoctor.quantities import binary_size
from xladoctor.repository import short

_MODEL = ConfigDict(extra="forbid", frozen=True, strict=True)
_SLACK = 0.01  # of a collective's bytes, by which it may grow
_LARGE = 1 << 20  # bytes of an argument; smaller ones of programs that move nothing do not matter


class Collective(BaseModel):
    """Operations of a kind at a line, over the same axes; ``bytes`` a device receives in a run."""

    model_config = _MODEL
    kind: str
    axes: str
    reason: str
    bytes: int = Field(ge=0)
    times: int = Field(ge=0)
    file: str | None = None
    line: int | None = None
    code: str = ""

    def __str__(self) -> str:
        at = f" at {short(self.file)}:{self.line}" if self.file else ""
        return f"{binary_size(self.bytes)} in {self.times}{at}"


class ProgramShardings(BaseModel):
    """How arguments are divided, by paths with ``*`` for numbers, and the collectives."""

    model_config = _MODEL
    arguments: dict[str, str]
    collectives: list[Collective]


Golden = Mapping[str, ProgramShardings]


@dataclass(frozen=True, slots=True)
class ShardingChange:
    """A collective (with its line, or where it was), or the division of an argument, in words."""

    program: str
    what: str
    state: Literal["new", "larger", "changed", "smaller", "gone"]
    was: str
    now: str
    location: Location | None = None


def golden(shardings: Sequence[DividedProgram], shown: Callable[[str], str] = str) -> Golden:
    """What to hold other runs against, by names of programs; files as ``shown`` writes them."""
    named: dict[str, list[DividedProgram]] = defaultdict(list)
    for program in shardings:
        if program.moved or any(each.bytes >= _LARGE for each in program.arrays):
            named[program.name].append(program)
    return {
        name: ProgramShardings(
            arguments=_arguments(programs),
            collectives=[_collective(each, shown) for one in programs for each in one.moved],
        )
        for name, programs in sorted(named.items())
    }


def _arguments(programs: Sequence[DividedProgram]) -> dict[str, str]:
    specs: dict[str, Counter[str]] = defaultdict(Counter)
    for each in (each for program in programs for each in program.arrays):
        if each.role == "argument":
            known = not each.path.startswith(f"{each.type}[")  # by its path, not by its type
            specs[re.sub(r"\d+", "*", each.path)][each.spec] += each.arrays * known
    several = {path for path, of in specs.items() if len(of) > 1 and any(of.values())}
    return {
        path: ", ".join(f"{each} × {of[each]}" if path in several else each for each in sorted(of))
        for path, of in sorted(specs.items())
    }


def _collective(moved: Movement, shown: Callable[[str], str]) -> Collective:
    same = {name: getattr(moved, name) for name in ("kind", "axes", "reason", "bytes", "times")}
    if at := moved.location:
        code = " ".join((at.source or "").split())
        return Collective(**same, file=shown(at.file), line=at.line, code=code)
    return Collective(**same)


def changes(was: Golden, now: Golden) -> Iterator[ShardingChange]:
    """What differs, by program."""
    nothing = ProgramShardings(arguments={}, collectives=[])
    for name in sorted({*was, *now}):
        a, b = was.get(name, nothing), now.get(name, nothing)
        for pair in _pairs(a.collectives, b.collectives):
            yield from _change(name, *pair)
        for path, spec in b.arguments.items():
            if (before := a.arguments.get(path, spec)) != spec:
                yield ShardingChange(name, path, "changed", before, spec)


def _change(name: str, was: Collective | None, now: Collective | None) -> Iterator[ShardingChange]:
    sizes = [each.bytes if each else 0 for each in (was, now)]
    state: Literal["new", "larger", "smaller", "gone"] = "larger" if was else "new"
    if sizes[1] < sizes[0]:
        state = "smaller" if now else "gone"
    one = now or was
    if one and not (was and now and abs(sizes[1] - sizes[0]) <= _SLACK * sizes[0]):
        over = f" over {one.axes}" if one.axes else ""
        at = Location(one.file, one.line or 1, None, "guilty", one.code) if one.file else None
        said = str(was or "none"), str(now or "none")
        yield ShardingChange(name, f"{one.kind}{over}", state, *said, at)


def _pairs(
    was: Sequence[Collective], now: Sequence[Collective]
) -> Iterator[tuple[Collective | None, Collective | None]]:
    """Each beside what it was: at the same line, known by its text, as its number may change; else
    the largest of its kind that is left.
    """
    left, right = (sorted(side, key=lambda each: -each.bytes) for side in (was, now))
    for names in (("kind", "axes", "reason", "code"), ("kind", "axes")):
        key = attrgetter(*names)
        for other in [*right]:
            if one := next((each for each in left if key(each) == key(other)), None):
                left.remove(one)
                right.remove(other)
                yield one, other
    yield from ((None, other) for other in right)
    yield from ((one, None) for one in left)
