"""What TorchTPU compiled for an operator, as the text of its graph says, and why it was needed::

    # Graph: 1 ops, 2 inputs, reason: debug_mode
    %0: f32[8, 16] = input
    %1: f32[32, 16] = input
    %2: f32[8, 32] = linear(%0, %1)    # /home/ada/train.py:11 in <module>
    return %2

The capture reads it from a buffer, the reader of logs from the files of ``TORCH_TRACE``.
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Protocol, TypeVar

#: Begins the names of launches.
PREFIX = "torchtpu_eager/"
#: The reason of launches by compiled functions.
COMPILED = "compile_mode_execution"
#: Parts of the paths of torch's own files.
AUTOGRAD, OPTIMIZERS = "/torch/autograd/", "/torch/optim/"
#: Shapes of an operator at a line that a new one is compared with, at most.
MOST_SHAPES = 64

_TYPE = re.compile(r"(?<!\w)\w{1,40}\[[^\[\]]{0,400}\]")
_PLACE = re.compile(r"(.+):(\d{1,9}) in (.+)")
_INPUT, _VIEW = "input", "as_strided"
_MOST_CHANGES = 2  # of sizes and types; more are those of another layer

#: As in :class:`..facts.Compile`: what, the input, was, now.
Change = tuple[str, str, str, str]


class Executable(NamedTuple):
    """What was compiled for a launch.

    Attributes:
        operator: the first in it that computes something.
        place: file, line and function of the first with a line; None if none has one.
        inputs: how many it has.
        shapes: types and dimensions of its inputs, such as ``f32[8,16]``, then those of the views
            that it takes of them.
    """

    operator: str
    place: tuple[str, int, str] | None
    inputs: int
    shapes: tuple[str, ...]


class Compiled(Protocol):
    """A compilation, as far as others are compared with it: the step that it was for."""

    step: int


_C = TypeVar("_C", bound=Compiled)


def executable(text: str, operator: str) -> Executable:
    """Read the text of a graph, as TorchTPU 0.2 writes it.

    Args:
        operator: the name of the launch, if the text has none.
    """
    inputs: list[str] = []
    views: list[str] = []
    operators: list[str] = []
    place = None
    for line in text.splitlines():
        results, equals, made = line.strip().partition(" = ")
        names, colon, types = results.partition(": ")
        if not (equals and colon and names.startswith("%")):
            continue
        call, _, comment = made.partition(" # ")
        name, called, _ = call.strip().partition("(")
        shapes = [type_.replace(" ", "") for type_ in _TYPE.findall(types)]
        if name == _INPUT and not called:
            inputs += shapes
            continue
        if name == _VIEW:
            views += shapes
        operators.append(name.partition(".")[0])
        if place is None and (match := _PLACE.fullmatch(comment.strip())):
            place = match[1], int(match[2]), match[3]
    computing = [name for name in operators if name != _VIEW]
    name = next(iter(computing or operators), operator.partition(".")[0])
    return Executable(name, place, len(inputs), (*inputs, *views))


def changed(
    found: Executable, known: Mapping[tuple[str, ...], _C], step: int
) -> tuple[_C | None, tuple[Change, ...]]:
    """What is new since the executable of an earlier step that is most alike.

    At one line an operator may be that of several layers: a change has to be the same in all
    inputs, such as another size of the batch.
    """
    if (same := known.get(found.shapes)) is not None:
        if len(found.shapes) > found.inputs:
            return same, (("offset", f"the slice that {found.operator} reads", "", ""),)
        return same, (("static", f"a Python number given to {found.operator}", "", ""),)
    best: tuple[int, _C | None, tuple[Change, ...]] = (0, None, ())
    for shapes, group in known.items():
        if group.step >= step or [*map(_rank, shapes)] != [*map(_rank, found.shapes)]:
            continue
        pairs = [*zip(shapes, found.shapes)]
        sizes = {size for was, now in pairs for size in zip(_sizes(was), _sizes(now))}
        differ = {(was, now) for was, now in sizes if was != now}
        types = {(_type(was), _type(now)) for was, now in pairs if _type(was) != _type(now)}
        if not 0 < len(differ) + len(types) <= _MOST_CHANGES:
            continue
        if len(pairs) > _MOST_CHANGES and all(was != now for was, now in pairs):
            continue  # weights and all: another layer
        changes = tuple(
            (
                "type" if _type(was) != _type(now) else "shape",
                f"{f'input {n}' if n < found.inputs else 'a slice'} of {found.operator}",
                was,
                now,
            )
            for n, (was, now) in enumerate(pairs)
            if was != now
        )
        if best[1] is None or len(changes) < best[0]:
            best = len(changes), group, changes
    return best[1:]


def _type(shape: str) -> str:
    return shape.partition("[")[0]


def _sizes(shape: str) -> list[str]:
    return shape.partition("[")[2].rstrip("]").split(",")


def _rank(shape: str) -> int:
    return shape.count(",") + (not shape.endswith("[]"))
