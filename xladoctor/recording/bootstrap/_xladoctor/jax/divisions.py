"""Finds values that a function divides over devices in one way, and right after in another: lines
with ``with_sharding_constraint`` or ``reshard`` that have only element-wise operations between.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator, NamedTuple

from .assignments import Place
from .constants import size_of, text_of
from .lines import inner_of

_DIVIDES = {"sharding_constraint": "sharding", "reshard": "dst_sharding"}
#: Operations that compute each element from those at its place.
_ELEMENTWISE = re.compile(
    r"abs|add(_any)?|and|cbrt|ceil|clamp|convert_element_type|copy(_p)?|cos|div|erf(_inv)?|exp2?"
    r"|expm1|floor|integer_pow|is_finite|log(1p)?|logistic|max|min|mul|name|neg|not|or|pow|pvary"
    r"|reduce_precision|rem|round|r?sqrt|select_n|sign|sin|square|stop_gradient|sub|tanh?|xor"
)
_CALLS = frozenset(("jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call"))
_MOST = 100_000  # equations
_LARGE = 1 << 16  # bytes of a value that may matter
_MESH = re.compile(r'"([^"]+)"=(\d+)')


class Divided(NamedTuple):
    """A line that divides a value, and how: the axes that each dimension is divided over."""

    place: Place | None
    spec: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        """The division as programs write it, such as ``('data', None)``."""
        written = [
            repr(axes[0]) if len(axes) == 1 else repr(axes) if axes else "None"
            for axes in self.spec
        ]
        return f"({', '.join(written)}{',' if len(written) == 1 else ''})"


class Redivided(NamedTuple):
    """A value that is divided in one way, then in another.

    Attributes:
        first, then: the two divisions; ``last``: a third, if there is one. The first has no place
            if it is known from the value's type alone, as where axes are explicit.
        used: where else the value is used then, by other than element-wise operations.
        array: its type and shape; ``bytes``: its size, of all devices.
    """

    first: Divided
    then: Divided
    last: Divided | None
    used: Place | None
    array: str
    bytes: int


class _Chain(NamedTuple):
    """The last divisions of a value: the newest, and the one before."""

    newest: Divided
    before: Divided | None


def meshes(lowered: Any) -> Iterator[dict[str, int]]:
    """The meshes that a module of MLIR declares (``sdy.mesh``): the sizes of axes by name."""
    for each in lowered.body.operations:
        if each.operation.name == "sdy.mesh":
            declared = str(each.operation).partition("{stablehlo")[0]
            yield {name: int(size) for name, size in _MESH.findall(declared)}


def redivided(closed: Any, at: Callable[[Any], Place | None]) -> list[Redivided]:
    """The large values of a function that are divided twice with an axis moved in between.

    Args:
        closed: its jaxpr.
        at: the line of the program that a traceback leads to.
    """
    finder = _Finder(at)
    found = dict.fromkeys(finder.find(closed.jaxpr))
    return [each for each in found if each.last is None or each.then not in finder.needed]


class _Finder:
    def __init__(self, at: Callable[[Any], Place | None]) -> None:
        self._at = at
        self._left = _MOST
        #: Divisions that other than element-wise operations take.
        self.needed: set[Divided] = set()

    def find(self, jaxpr: Any) -> Iterator[Redivided]:
        chains: dict[int, _Chain] = {}
        for equation in jaxpr.eqns:
            self._left -= 1
            if self._left <= 0:
                return
            name = equation.primitive.name
            held = [v for v in equation.invars if id(v) in chains]
            carried = chains[id(max(held, key=lambda v: size_of(v.aval)))] if held else None
            if name in _DIVIDES:
                divided = self._divided(equation, equation.params[_DIVIDES[name]])
                carried = carried or self._typed(equation)
                if divided is not None and not _is_backward(equation):
                    chains[id(equation.outvars[0])] = _Chain(divided, carried and carried.newest)
                    if carried is not None:
                        yield from self._judged(carried, divided, None, equation)
            elif carried is not None and _is_elementwise(equation):
                chains[id(equation.outvars[0])] = carried
            elif carried is not None and not _is_backward(equation):
                self.needed.add(carried.newest)
                yield from self._judged(carried, None, self._place(equation), equation)
            for inner in inner_of(equation.params):
                yield from self.find(inner)
        self.needed |= {chains[id(v)].newest for v in jaxpr.outvars if id(v) in chains}

    def _judged(
        self, chain: _Chain, last: Divided | None, used: Place | None, equation: Any
    ) -> Iterator[Redivided]:
        first, then = chain.before, chain.newest
        value = equation.invars[0].aval
        if first is None or size_of(value) < _LARGE or (last is None and first.place is None):
            return
        undone = last is not None and first.spec == last.spec != then.spec
        if undone or (_moved(first, then) and (last is None or _moved(then, last))):
            yield Redivided(first, then, last, used, text_of(value), size_of(value))

    def _typed(self, equation: Any) -> _Chain | None:
        """How its operand is divided, where axes are explicit, so that its type tells."""
        if equation.primitive.name != "reshard":
            return None
        divided = self._divided(equation, getattr(equation.invars[0].aval, "sharding", None))
        return divided and _Chain(divided._replace(place=None), None)

    def _divided(self, equation: Any, sharding: Any) -> Divided | None:
        spec, rank = getattr(sharding, "spec", None), len(equation.outvars[0].aval.shape)
        if spec is None:
            return None
        axes = [() if part is None else (part,) if isinstance(part, str) else part for part in spec]
        if not all(isinstance(part, tuple) for part in axes):  # it may be left to the compiler
            return None
        whole = [()] * (rank - len(axes))
        return Divided(self._place(equation), tuple(map(tuple, (*axes, *whole))))

    def _place(self, equation: Any) -> Place | None:
        return self._at(equation.source_info.traceback)


def _moved(one: Divided, other: Divided) -> bool:
    """Whether an axis is of another dimension in the other division."""
    places = [
        {axis: dimension for dimension, axes in enumerate(each.spec) for axis in axes}
        for each in (one, other)
    ]
    return any(places[1].get(axis, dimension) != dimension for axis, dimension in places[0].items())


def _is_backward(equation: Any) -> bool:
    return "transpose(" in str(equation.source_info.name_stack)


def _is_elementwise(equation: Any) -> bool:
    """Whether the result has each element where the operands have it; some may be spread along
    dimensions, as a bias is.
    """
    name, shapes = equation.primitive.name, {_shape(each) for each in equation.outvars}
    if len(shapes) != 1:
        return False
    (shape,) = shapes
    operands = [_shape(each) for each in equation.invars]
    if shape not in operands or not all(_spreads(operand, shape) for operand in operands):
        return False
    if name in _CALLS:
        return all(
            _is_elementwise(each) or each.primitive.name == "broadcast_in_dim"
            for inner in inner_of(equation.params)
            for each in inner.eqns
        )
    return _ELEMENTWISE.fullmatch(name) is not None


def _spreads(operand: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether each element of an operand is used along dimensions where it has one, as a bias."""
    return not operand or (
        len(operand) == len(shape) and all(o in (1, s) for o, s in zip(operand, shape))
    )


def _shape(variable: Any) -> tuple[int, ...]:
    return tuple(getattr(variable.aval, "shape", ()))
