"""What TorchTPU's record of launches says of one of them.

The capture reads the record from TorchTPU's buffer; where a program has it written to the log that
``TORCH_TRACE`` asks for, it is read from there. Depends on neither.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

COMPILED = "compile_mode_execution"  # the reason of launches by compiled functions
_AT_ONCE = "debug_mode"  # of operators that are launched as they are called; others were put off
PREFIX = "torchtpu_eager/"
_TYPE = re.compile(r"(?<!\w)\w{1,40}\[[^\[\]]{0,400}\]")
_PLACE = re.compile(r"(.+):(\d{1,9}) in (.+)")
#: Parts of the paths of torch's own files.
AUTOGRAD, OPTIMIZERS = "/torch/autograd/", "/torch/optim/"
OF_ALL_PARAMETERS = ("_foreach_", "_fused_")  # operators on all parameters at once
_INPUT, _VIEW, WRITE = "input", "as_strided", "as_strided_inverse"
_STATE = "ui64[2]"  # of the random number generator

#: File, line and function.
Place = tuple[str, int, str]
#: A line of the program, as the caller has it; None if it is not known.
Site = Any


class Executable(NamedTuple):
    """What was compiled for a launch.

    Attributes:
        operator: the first in it that computes something.
        place: file, line and function of the first with a line; None if none has one.
        inputs: how many it has.
        shapes: types and dimensions of its inputs, such as ``f32[8,16]``, then those of the views
            that it takes of them; where no input has a size, as in ``zeros``, those of its results.
        sliced: whether it reads parts of tensors, or writes into them.
        chain: all operators in it but views.
    """

    operator: str
    place: Place | None
    inputs: int
    shapes: tuple[str, ...]
    sliced: bool
    chain: tuple[str, ...]


def executable(text: str, operator: str) -> Executable:
    """Read the text of a graph, as TorchTPU 0.2 writes it::

        %0: f32[8, 16] = input
        %1: f32[8, 16] = relu(%0)    # /home/ada/train.py:11 in <module>

    Not a regular expression for lines, which would try each bracket with each colon of a damaged
    one.

    Args:
        operator: the name of the launch, if the text has none.
    """
    inputs, views, made, operators, place = [], [], [], [], None
    for line in text.splitlines():
        results, equals, right = line.strip().partition(" = ")
        names, colon, types = results.partition(": ")
        if not (equals and colon and names.startswith("%")):
            continue
        call, _, comment = right.partition(" # ")
        name, called, _ = call.strip().partition("(")
        typed = [type_.replace(" ", "") for type_ in _TYPE.findall(types)]
        if name == _INPUT and not called:
            inputs += typed
            continue
        if name == _VIEW:
            views += typed
        else:
            made += typed
        operators.append(name.partition(".")[0])
        if place is None and (match := _PLACE.fullmatch(comment.strip())):
            place = match[1], int(match[2]), match[3]
    computing = [name for name in operators if name != _VIEW]
    name = next(iter(computing or operators), operator.partition(".")[0])
    sized = [shape for shape in inputs if shape != _STATE and rank(shape)]
    shapes = (*inputs, *views) if sized else (*inputs, *views, *made)
    sliced = bool(views) or WRITE in operators
    return Executable(name, place, len(inputs), shapes, sliced, tuple(computing))


def is_deferred(event: dict[str, Any]) -> bool:
    """Whether the operators of a launch were put off, to be launched together."""
    return bool(event["reason"] != _AT_ONCE)


def updates(found: Executable) -> bool:
    """Whether it is of an optimizer; called outside of functions, its line is the program's."""
    return found.place is not None and (
        OPTIMIZERS in found.place[0]
        or any(part.startswith(OF_ALL_PARAMETERS) for part in found.chain)
    )


def is_of_all_parameters(found: Executable) -> bool:
    """Whether it is for all parameters, of a backward pass or an update."""
    return is_of_backward(found) or updates(found)


def is_of_backward(found: Executable) -> bool:
    return found.place is None or AUTOGRAD in found.place[0]


def rank(shape: str) -> int:
    return shape.count(",") + (not shape.endswith("[]"))
