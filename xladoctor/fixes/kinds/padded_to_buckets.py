"""Pads a batch to a multiple of 32 in the collate function, so that few shapes are left."""

from __future__ import annotations

import re

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused, Unsuited
from xladoctor.fixes.names import free
from xladoctor.fixes.source import Source

_BUCKET = 32
_PAD_SEQUENCE = frozenset(("torch.nn.utils.rnn.pad_sequence",))
_NAME = "padded"
#: What makes or fills arrays of a length.
_PADDING = frozenset(
    (
        *("constant_pad_nd", "empty", "full", "new_empty", "new_full", "new_ones", "new_zeros"),
        *("ones", "pad", "zeros"),
    )
)
#: What a call can stand in and is evaluated for certain, once.
_EVALUATED = (
    *(cst.Return, cst.Assign, cst.Tuple, cst.List, cst.Element, cst.Dict, cst.DictElement),
    *(cst.Arg, cst.Call, cst.Attribute),
)
_SIZES = re.compile(r"\[([\d,]+)")


def fix(case: Case) -> Change:
    """For a ``collate_fn`` that pads once: with ``pad_sequence``, or to the ``max`` of lengths."""
    source = case.source
    if case.frontend != "torch_xla" or case.cause.get("kind") != "input_shape":
        raise Unsuited("only programs of torch_xla are padded")
    line = case.place("collated").line
    function = next(
        (each for each in source.all(cst.FunctionDef) if source.begin(each.name).line == line), None
    )
    if function is None:
        raise Refused(f"line {line} does not define a collate function")
    changes = [*_padded(case, function), *_rounded(source, function)]
    if len(changes) != 1:
        raise Refused(f"`{function.name.value}` does not pad in one place that is understood")
    return Change(
        f"pad to a multiple of {_BUCKET}",
        changes[0],
        behaviour=(
            f"batches have up to {_BUCKET - 1} more elements of padding:"
            " a mean or a loss that includes padding changes"
        ),
        relies_on=("other code that pads follows the batch's length",),
    )


def _padded(case: Case, function: cst.FunctionDef) -> list[tuple[Edit, ...]]:
    """The edits for each call of ``pad_sequence``."""
    source = case.source
    changes: list[tuple[Edit, ...]] = []
    for call in source.calls_of(_PAD_SEQUENCE, function):
        statement = source.statement(source.begin(call).line)
        match source.parent(call):
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
                changes.append((source.insert_after(statement, _pad(case, call, name)),))
            case _:
                changes.append(_named(source, statement, call, _pad(case, call, _NAME)))
    return changes


def _pad(case: Case, call: cst.Call, name: str) -> str:
    """The statement that pads what a call of ``pad_sequence`` has returned."""
    source = case.source
    given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword}
    if any(arg.star for arg in call.args) or len(call.args) != len(given) + 1:
        raise Refused("pad_sequence is called with arguments that have no names")
    first = given.get("batch_first")
    if first is None or source.code(first) != "True" or "padding_side" in given:
        raise Refused("pad_sequence is called without batch_first=True")
    filled = given.get("padding_value")
    value = f", value={source.code(filled)}" if filled is not None else ""
    torch, imported = source.import_of("torch", call)
    if imported:
        raise Refused("the file does not import torch")
    sizes = f"({'0, 0, ' * (_rank(case.cause) - 2)}0, -{name}.shape[1] % {_BUCKET})"
    return f"{name} = {torch}.nn.functional.pad({name}, {sizes}{value})"


def _named(
    source: Source, statement: cst.SimpleStatementLine, call: cst.Call, pad: str
) -> tuple[Edit, ...]:
    """The edits for a call that is a part of what a statement returns or assigns."""
    for above in source.around(call):
        if above is statement:
            break
        if not isinstance(above, _EVALUATED):
            raise Refused("pad_sequence is called where it may not be reached")
    lines = f"{free(source, _NAME)} = {source.code(call)}", pad
    return source.insert_before(statement, *lines), source.replace(call, _NAME)


def _rank(cause: dict[str, object]) -> int:
    """The number of dimensions of the input that changes, which must change in its second."""
    sizes = _SIZES.search(str(cause.get("to_shape")))
    rank = sizes[1].count(",") + 1 if sizes else 0
    if rank < 2 or cause.get("dimension") != 1:
        raise Refused("it is not the second dimension that changes")
    return rank


def _rounded(source: Source, function: cst.FunctionDef) -> list[tuple[Edit, ...]]:
    """The edits for each ``name = max(len(…) for …)``."""
    changes: list[tuple[Edit, ...]] = []
    for call in source.calls_of(frozenset(("builtins.max",)), function):
        match call.args:
            case [cst.Arg(value=cst.GeneratorExp(elt=element) | cst.ListComp(elt=element))]:
                pass
            case _:
                continue
        if not _is_length(source, element):
            continue
        match source.parent(call):
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
                _refuse_other_uses(source, function, name)
            case _:
                raise Refused("the longest length is not assigned to a variable")
        changes.append((source.replace(call, f"-(-{source.code(call)} // {_BUCKET}) * {_BUCKET}"),))
    return changes


def _refuse_other_uses(source: Source, function: cst.FunctionDef, name: str) -> None:
    """Refuse a length that is used for more than for padding."""
    for use in source.names_used(function, name):
        if source.is_bound_at(use):
            continue
        if not any(_pads(source, each, use) for each in source.around(use)):
            raise Refused(
                f"`{name}` is used in line {source.begin(use).line} for more than padding"
            )


def _pads(source: Source, code: cst.CSTNode, use: cst.Name) -> bool:
    """Whether code that has a length in it fills up to it, as far as the file shows."""
    match code:
        case cst.Call(func=func):
            is_given = any(arg.value is use for arg in code.args) and not any(
                name.startswith("builtins.") for name in source.qualified(func)
            )
            return is_given or source.code(func).rpartition(".")[2] in _PADDING
        case cst.BinaryOperation(left=cst.List()):
            return True
    return False


def _is_length(source: Source, node: cst.BaseExpression) -> bool:
    """Whether it is ``len(x)``, ``x.size(0)`` or ``x.shape[0]``."""
    match node:
        case cst.Call(func=cst.Name("len") as func):
            return source.qualified(func) == {"builtins.len"}
        case cst.Call(func=cst.Attribute(attr=cst.Name("size")), args=[cst.Arg(cst.Integer("0"))]):
            return True
    return source.code(node).endswith(".shape[0]")
