"""Loaders of PyTorch in a program: the calls that make them, and the data sets in them."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.calls import Does
from xladoctor.fixes.effects import effects, what
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.names import function
from xladoctor.fixes.source import Source, argument

_LOADER = frozenset(f"torch.utils.data.{name}" for name in ("DataLoader", "dataloader.DataLoader"))
#: Data sets that are not iterable, and that draw no random numbers.
_TENSORS = frozenset(
    f"torch.utils.data.{name}" for name in ("TensorDataset", "dataset.TensorDataset")
)
_RANDOM = {
    *("rand", "randn", "randint", "randperm", "normal", "uniform", "choice", "shuffle", "sample"),
    "random",
}


def loader_in(source: Source, line: int) -> cst.Call:
    """The call that makes the loader of a line.

    Raises:
        Refused: there is none, or there are several.
    """
    found = [call for call in source.calls_of(_LOADER, source.module) if source.covers(call, line)]
    if len(found) != 1:
        raise Refused(f"line {line} does not make one DataLoader of torch.utils.data")
    return found[0]


def data_set(source: Source, call: cst.Call) -> cst.ClassDef | None:
    """The class of the data set in a loader; None if it is of tensors that lie in memory.

    Raises:
        Refused: the file does not show what it is.
    """
    value = argument(call, "dataset", 0)
    if isinstance(value, cst.Name):
        value = source.value_of(value)
    if isinstance(value, cst.Call):
        if source.qualified(value.func) & _TENSORS:
            return None
        for each in source.all(cst.ClassDef):
            if isinstance(value.func, cst.Name) and value.func.value == each.name.value:
                return each
    raise Refused(
        "the file does not show what its data set is: workers would each give all samples of an"
        " IterableDataset"
    )


def methods(class_: cst.ClassDef) -> dict[str, cst.FunctionDef]:
    """The methods that a class defines."""
    return {each.name.value: each for each in class_.body.body if isinstance(each, cst.FunctionDef)}


def refuse_changes(source: Source, class_: cst.ClassDef, method: cst.FunctionDef) -> None:
    """Refuse a method that calls others by which the data set, or what it holds, may change."""
    own = methods(class_)
    for call in source.all(cst.Call, method.body):
        code = f"`{source.code(call.func)}()` in line {source.begin(call).line}"
        helper = function(source, source.code(call.func))
        match call.func:
            case cst.Attribute(value=cst.Name("self"), attr=cst.Name(name)):
                helper = own.get(name)
            case cst.Attribute(value=cst.Attribute(value=cst.Name("self"))):
                if what(source, call) in (None, Does.changes):
                    raise Refused(f"{code} may change its data set's values")
        if helper is not None:
            found = effects(source, helper.body)
            if found.changes - (source.names_bound(helper.body) - {"self"}):
                raise Refused(f"{code} changes something for each sample")


def is_random(source: Source, node: cst.CSTNode) -> bool:
    """Whether a piece of code seems to draw random numbers that are not seeded in it."""
    names = {each.value for each in source.all(cst.Name, node)}
    return bool(names & _RANDOM) and "manual_seed" not in names
