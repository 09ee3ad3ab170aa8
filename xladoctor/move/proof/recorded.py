"""Reads the values of first steps, as ``first_steps.py`` of the bootstrap writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xladoctor.fixes.proof.arrays import Array, arrays

#: Parts of names that wrappers of a module add.
_WRAPPED = ("_orig_mod.", "module.")
#: The relative distance of numbers of each type of floating point.
_SPACING = {"float64": 2.3e-16, "float32": 1.2e-7, "float16": 9.8e-4, "bfloat16": 7.9e-3}


@dataclass(frozen=True, slots=True)
class Value:
    """An array. ``elements`` is a sample of them as float64, None if it could not be read;
    ``spacing`` the relative distance of its numbers, 0 for whole ones.
    """

    name: str
    elements: Array | None
    spacing: float
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """Arrays that were seen together; ``number`` is that of the module or optimizer, ``step`` the
    number of the step, from 1.
    """

    kind: str
    of: str
    number: int
    values: tuple[Value, ...]
    step: int = 1


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """What a process did in its first steps.

    Attributes:
        unsure: what could not be recorded or made alike, such as an operator's random numbers.
        stopped: whether it was ended after these steps, rather than by itself.
        steps: how many are complete.
        devices: types of devices of parameters and results.
    """

    seen: tuple[Seen, ...]
    unsure: frozenset[str]
    stopped: bool
    steps: int
    devices: frozenset[str] = frozenset()

    @property
    def has_updates(self) -> bool:
        """Whether an optimizer made steps."""
        return any(each.kind == "parameters" for each in self.seen)


def first_steps(folder: Path) -> list[FirstSteps]:
    """Of each process that wrote values; if some updated parameters, of these alone."""
    read = [_read(path) for path in sorted(folder.glob("*.json"))]
    found = [each for each in read if each is not None]
    return [each for each in found if each.has_updates] or found


def _read(path: Path) -> FirstSteps | None:
    """None if a file is damaged: the process may have been ended while it wrote it."""
    tensors = arrays(path.with_suffix(".pt"))
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if tensors is None:
        return None
    seen = [
        Seen(
            row["kind"], row["of"], row["number"], tuple(_value(tensors, *v) for v in row["values"])
        )
        for row in record["seen"]
    ]
    *counted, last = _counted([*seen, Seen("end", "", -1, ())])
    return FirstSteps(
        tuple(counted),
        frozenset(record["unsure"]),
        record["ended"] == "first steps",
        last.step - 1,
        frozenset(record["devices"]),
    )


def _value(
    tensors: dict[str, Any], name: str, place: int | None, kind: str, shape: Sequence[int]
) -> Value:
    for part in _WRAPPED:
        name = name.replace(part, "")
    elements = None if place is None else np.asarray(tensors[f".{place}"], "f8")
    return Value(name, elements, _SPACING.get(kind.rpartition(".")[2], 0.0), tuple(shape))


def _counted(seen: Sequence[Seen]) -> Iterator[Seen]:
    """With their steps, which the last optimizer of the first round ends; without an optimizer,
    the last module of the first round does.
    """
    ends = "parameters" if any(each.kind == "parameters" for each in seen) else "outputs"
    numbers = [each.number for each in seen if each.kind == ends]
    again = next((n for n, each in enumerate(numbers) if each in numbers[:n]), len(numbers))
    leader = numbers[again - 1] if numbers else None
    step = 1
    for each in seen:
        yield replace(each, step=step)
        step += each.kind == ends and each.number == leader
