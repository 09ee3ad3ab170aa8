"""Compares what runs of a program left: texts, files, and what it had computed at its end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from xladoctor.fixes.proof.arrays import arrays, close
from xladoctor.fixes.proof.interface import Run
from xladoctor.fixes.proof.output import Compared, compared, shortened

_LARGEST_TEXT = 20_000_000  # bytes
PRINTED = "standard output"
#: Lines in the form of glog and of TensorFlow, in which compilers and drivers log.
_OF_LIBRARIES = re.compile(
    r"(?m)^(?:[IWEF]\d{4} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWEF] ).*\n?"
)


@dataclass(frozen=True, slots=True)
class Results:
    """What runs have in common.

    Attributes:
        same: what was compared and is the same.
        other: what is another result.
        varies: what differs between runs of the unchanged program as well, wholly or in part, and
            to that extent was not compared.
        differs: lines that show what differs.
    """

    same: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()


def results(before: Sequence[Run], after: Run, rtol: float) -> Results:
    """What a run with a patch left, against runs of the unchanged program.

    Args:
        rtol: relative tolerance of numbers.
    """
    every = dict(_each(before, after, rtol))
    lines = list[str]()
    for name, found in every.items():
        lines += [f"{name}:"] * (bool(found.differs) and name != PRINTED) + [*found.differs]
    return Results(
        tuple(name for name, found in every.items() if found.says and not found.differs),
        tuple(name for name, found in every.items() if found.differs),
        tuple(name for name, found in every.items() if found.varies),
        shortened(lines),
    )


def _each(before: Sequence[Run], after: Run, rtol: float) -> Iterator[tuple[str, Compared]]:
    texts: list[tuple[str, Callable[[Run], str]]] = [
        (PRINTED, lambda run: run.printed),
        ("standard error", lambda run: _OF_LIBRARIES.sub("", run.errors)),
    ]
    for name, text in texts:
        yield name, compared([text(run) for run in before], text(after), rtol)
    counts = (
        ("log records", [run.logged for run in before], after.logged),
        ("files removed", [run.removed for run in before], after.removed),
    )
    for name, were, now in counts:
        if len(set(were)) > 1:
            yield name, Compared(varies=True)
        elif were[0] != now:
            yield name, Compared((f"- {_listed(were[0])}", f"+ {_listed(now)}"))
    names = set().union(*(run.written for run in before))
    if all(run.written.keys() == names for run in before):  # none has a time or a number in it
        names |= after.written.keys()
    for name in sorted(names):
        yield name, _file([run.written.get(name) for run in before], after.written.get(name), rtol)
    for name in sorted(after.state.keys() & before[0].state.keys()):
        yield name, _state([run.state.get(name) for run in before], after.state[name], rtol)


def _listed(counts: Sequence[object]) -> str:
    return ", ".join(map(str, counts)) or "none"


def _file(before: Sequence[Path | None], after: Path | None, rtol: float) -> Compared:
    """A file that a run wrote, against the same file of runs of the unchanged program."""
    were = [path for path in before if path is not None]
    if 0 < len(were) < len(before):
        return Compared(varies=True)
    if not were or after is None:
        return Compared(("+ is written",) if after else ("- is not written",))
    raw = [path.read_bytes() for path in (*were, after)]
    if len(set(raw)) == 1:
        return Compared(says=bool(raw[0]))
    values = [arrays(path) for path in (*were, after)]
    read = [each for each in values if each is not None]
    if len(read) == len(values):
        return _values(read[:-1], read[-1], rtol)
    try:
        texts = [each[:_LARGEST_TEXT].decode("utf-8") for each in raw]
    except UnicodeDecodeError:
        varies = len(set(raw[:-1])) > 1
        return Compared(varies=True) if varies else Compared(("- other bytes",))
    return compared(texts[:-1], texts[-1], rtol)


def _state(before: Sequence[Path | None], after: Path, rtol: float) -> Compared:
    """What the program had computed at its end. A patch may make functions anew, or leave some
    out: only what both have is compared.
    """
    read = [arrays(path) or {} for path in (*(each for each in before if each), after)]
    names = set(read[0]).intersection(*read)
    alike = [{name: each[name] for name in each if name in names} for each in read]
    return _values(alike[:-1], alike[-1], rtol)


def _values(
    before: Sequence[Mapping[str, object]], after: Mapping[str, object], rtol: float
) -> Compared:
    first = before[0]
    if any(each.keys() != first.keys() for each in before):
        return Compared(varies=True)
    steady = {
        name
        for name, value in first.items()
        if all(close(value, each[name], rtol) for each in before[1:])
    }
    found = list[str]()
    for name in sorted(first.keys() | after.keys()):
        label = name.lstrip(".") or "its array"
        if name not in after or name not in first:
            found.append(f"- {label}" if name in first else f"+ {label}")
        elif name in steady and not close(first[name], after[name], rtol):
            found.append(f"- {label} has other values")
    return Compared(tuple(found), bool(steady), len(steady) < len(first))
