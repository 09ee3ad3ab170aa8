"""Reads of a value from the device, as a statement writes them."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from xladoctor.fixes.calls import COPIES, NUMBERS
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.source import Source, called
from xladoctor.fixes.values import is_kept, is_scalar

#: Functions that only copy a tensor to the host.
_COPYING = {"numpy.asarray", "numpy.array", "jax.device_get"}
_COUNTS = {"eq", "equal"}
#: Operations whose result is a floating-point number.
_FLOATS = {"float", "mean", "cross_entropy", "mse_loss", "nll_loss", "l1_loss", "smooth_l1_loss"}
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


@dataclass(frozen=True, slots=True)
class Read:
    """A call that makes a Python number of a tensor.

    Attributes:
        call: the whole: ``float(loss.cpu())``.
        tensor: what it reads: ``loss``.
        number: the function that makes the number; empty for ``.item()``.
    """

    source: Source
    call: cst.Call
    tensor: cst.BaseExpression
    number: str

    @property
    def on_device(self) -> str:
        """The tensor, as text that can stand in place of the call."""
        text = self.source.code(self.tensor)
        return text if isinstance(self.tensor, _ATOMS) else f"({text})"

    @property
    def detached(self) -> str:
        """The same without its gradient."""
        return self.on_device if self.is_count else f"{self.on_device}.detach()"

    @property
    def kept(self) -> str:
        """The same as it is now, whatever happens to the tensor afterwards."""
        copied = "" if self.is_count or is_kept(self.source, self.tensor) else ".clone()"
        return f"{self.detached}{copied}"

    @property
    def scalar(self) -> str:
        """The same without its gradient and dimensions."""
        is_flat = self.is_count or is_scalar(self.source, self.tensor)
        return self.detached if is_flat else f"{self.detached}.reshape(())"

    @property
    def is_count(self) -> bool:
        """Whether it counts what is equal, as ``(a == b).sum()`` does."""
        match self.tensor:
            case cst.Call(func=cst.Attribute(value=object_, attr=cst.Name("sum")), args=args):
                summed = [object_, *(arg.value for arg in args[:1])]
                return any(
                    isinstance(each, cst.Comparison) or called(each) in _COUNTS for each in summed
                )
        return False

    @property
    def is_float(self) -> bool:
        """Whether it is known to be a floating-point number."""
        if called(self.tensor) in _FLOATS:
            return True
        if not isinstance(self.tensor, cst.Name):
            return False
        name = self.tensor.value
        below = self.source.owner(self.call)
        return any(
            called(call) == "backward" and self.source.code(call.func) == f"{name}.backward"
            for call in self.source.all(cst.Call, below)
        )

    def read_later(self, text: str) -> str:
        """The same read of something else."""
        return f"{self.number}({text})" if self.number else f"{text}.item()"


def the_read(source: Source, below: cst.CSTNode) -> Read:
    """The only read in a statement.

    Raises:
        Refused: there is none, or there are several.
    """
    found: list[Read] = []
    for call in source.all(cst.Call, below):
        read = _read(source, call)
        if read and not any(call in source.all(cst.Call, each.call) for each in found):
            found.append(read)
    if len(found) != 1:
        several = "reads several values" if found else "has no .item(), float() or int() that reads"
        raise Refused(f"the statement in line {source.begin(below).line} {several}")
    if any(source.all((cst.NamedExpr, cst.Await, cst.Yield), below)):
        raise Refused(f"the statement in line {source.begin(below).line} does more than read")
    return found[0]


def _read(source: Source, call: cst.Call) -> Read | None:
    match call:
        case cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name("item")), args=[]):
            return Read(source, call, _bare(source, tensor), "")
        case cst.Call(func=cst.Name(), args=[cst.Arg(value=tensor, keyword=None, star="")]):
            for name in source.qualified(call.func):
                if name in NUMBERS and not isinstance(tensor, cst.BaseNumber | cst.BaseString):
                    return Read(source, call, _bare(source, tensor), name.removeprefix("builtins."))
    return None


def _bare(source: Source, tensor: cst.BaseExpression) -> cst.BaseExpression:
    """A tensor without its copy to the host."""
    match tensor:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(name)), args=[]) if (
            name in COPIES | {"item"}
        ):
            return _bare(source, inner)
        case cst.Call(args=[cst.Arg(value=inner, keyword=None, star="")]) if (
            source.qualified(tensor.func) & _COPYING
        ):
            return _bare(source, inner)
    return tensor
