"""Passes a static number as an ordinary argument, if the function only computes with it."""

from __future__ import annotations

import re

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Position, Refused, Unsuited
from xladoctor.fixes.names import compiles, function
from xladoctor.fixes.source import Source, keyword

_JIT = frozenset(("jax.jit",))
_ARITHMETIC = (
    *(cst.Add, cst.Subtract, cst.Multiply, cst.Divide),
    *(cst.FloorDivide, cst.Modulo, cst.Power),
)
#: Functions that take numbers and arrays alike.
_ELEMENTWISE = frozenset(
    f"jax.numpy.{name}"
    for name in (
        *("abs", "add", "arctan", "asarray", "clip", "cos", "cosh", "divide", "exp", "expm1"),
        *("floor", "log", "log1p", "maximum", "minimum", "mod", "multiply", "negative", "power"),
        *("sign", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "where"),
    )
)
#: Of which a product with a few numbers of iterations does not fit into 32 bits.
_LARGE = 2**15
_COUNT = re.compile(r"^-?\d+(?:\.\d*)?(?:e[-+]?\d+)?$")


def fix(case: Case) -> Change:
    """For the function of the module that is compiled for each value of the argument."""
    source = case.source
    if case.frontend != "jax":
        raise Unsuited("only jax.jit has static arguments")
    name, compiled = case.cause.get("argument"), case.cause.get("compiled")
    if not name or not str(name).isidentifier() or not compiled:
        raise Refused("the finding does not name the argument")
    for value in (case.cause.get("was"), case.cause.get("now")):
        if value is not None and not _COUNT.match(str(value)):
            raise Refused(f"{name} is not a number: it was {value}")
    definition = function(source, str(compiled))
    if definition is None:
        raise Refused(f"{compiled} is not a function of this file's module")
    _Uses(source, definition).follow(str(name))
    where = _places(definition, str(name))
    edits = _edits(source, definition, str(name), where)
    return Change(
        f"pass `{name}` to `{compiled}` as an ordinary argument",
        edits,
        behaviour=f"JAX computes with `{name}` in 32 bits, where Python did in 64;"
        " a division by zero gives inf, and raises no error",
    )


class _Uses:
    """Follows a number through a function, and refuses what needs its value while tracing."""

    def __init__(self, source: Source, definition: cst.FunctionDef) -> None:
        self._source = source
        self._definition = definition
        self._followed: set[str] = set()

    def follow(self, name: str) -> None:
        """All uses of a variable that holds the number or what was computed from it."""
        if name in self._followed:
            return
        self._followed.add(name)
        for each in self._source.names_used(self._definition.body, name):
            if len(self._followed) == 1 or not isinstance(
                self._source.parent(each), cst.AssignTarget
            ):
                self._follow(each)

    def _follow(self, node: cst.CSTNode) -> None:
        source, above = self._source, self._source.parent(node)
        while above is not None:
            if isinstance(above, (cst.BinaryOperation, cst.UnaryOperation)):
                self._operator(node, above)
            elif isinstance(above, cst.Assign):
                return self._targets(node, above)
            elif isinstance(above, (cst.Return, cst.Lambda)):
                return None
            elif isinstance(above, cst.Call):
                if not source.qualified(above.func) & _ELEMENTWISE or node not in above.args:
                    raise self._refused(node, above)
            elif not isinstance(above, (cst.Arg, cst.Tuple, cst.Element, cst.AssignTarget)) or (
                isinstance(above, cst.Arg) and (above.star or above.keyword)
            ):
                raise self._refused(node, above)
            node, above = above, source.parent(above)
        return None

    def _operator(self, node: cst.CSTNode, above: cst.BinaryOperation | cst.UnaryOperation) -> None:
        if isinstance(above, cst.UnaryOperation):
            if not isinstance(above.operator, cst.Minus):
                raise self._refused(node, above)
            return
        if not isinstance(above.operator, _ARITHMETIC):
            raise self._refused(node, above)
        if (
            isinstance(above.operator, cst.Power)
            and node is above.right
            and isinstance(above.left, cst.Integer)
        ):
            raise Refused(f"`{self._source.code(above)}` may not fit into 32 bits")
        for each in self._source.all(cst.Integer, above):
            if each.evaluated_value >= _LARGE:
                raise Refused(f"`{self._source.code(above)}` may not fit into 32 bits")

    def _targets(self, node: cst.CSTNode, assign: cst.Assign) -> None:
        if isinstance(node, cst.AssignTarget):
            raise Refused("the function assigns the argument")
        for target in assign.targets:
            if not isinstance(target.target, cst.Name) or isinstance(node, cst.Tuple):
                raise self._refused(node, assign)
            self.follow(target.target.value)

    def _refused(self, node: cst.CSTNode, above: cst.CSTNode) -> Refused:
        line = self._source.begin(node).line
        return Refused(
            f"line {line} may need its value while JAX traces: `{self._source.code(above)[:60]}`",
            "if it decides a branch, use jax.lax.cond; if it is a number of"
            " iterations, jax.lax.fori_loop",
        )


def _places(definition: cst.FunctionDef, name: str) -> int:
    """The number of an argument among those that may be given by position.

    Raises:
        Refused: the function has no such argument, or others of any number.
    """
    params = definition.params
    names = [param.name.value for param in (*params.posonly_params, *params.params)]
    if name not in names:
        raise Refused(f"{name} is not an argument that may be given by position")
    return names.index(name)


def _edits(source: Source, definition: cst.FunctionDef, name: str, place: int) -> tuple[Edit, ...]:
    """What takes the argument out of the static ones, wherever the function is compiled."""
    own = definition.name.value
    decorators = [
        decorator.decorator
        for decorator in definition.decorators
        if isinstance(decorator.decorator, cst.Call) and compiles(source, decorator.decorator, _JIT)
    ]
    calls = [
        call
        for call in source.calls_of(_JIT, source.module)
        if call.args and source.code(call.args[0].value) == own
    ]
    found = [*decorators, *calls]
    if len(found) != 1 or len(definition.decorators) != len(decorators):
        raise Refused(f"{own} is not compiled in exactly one place of this file")
    edits = _without(source, found[0], name, place)
    is_partial = "jax.jit" not in source.qualified(found[0].func)
    if decorators and len(found[0].args) == 1 + is_partial and not edits[0].text.strip("()"):
        return _plain_decorator(source, found[0])
    return tuple(edits)


def _without(source: Source, call: cst.Call, name: str, place: int) -> list[Edit]:
    edits = []
    for number, arg in enumerate(call.args):
        if keyword(arg) not in ("static_argnames", "static_argnums"):
            continue
        values = _literals(source, arg.value)
        gone = repr(name) if keyword(arg) == "static_argnames" else str(place)
        left = [each for each in values if each != gone]
        if len(left) == len(values):
            continue
        if not left:
            edits.append(source.delete_argument(call, number))
        else:
            edits.append(source.replace(arg.value, _tuple(left, bool(arg.value.lpar))))
    if not edits:
        raise Refused(f"this file does not show where {name} is made static")
    return edits


def _literals(source: Source, value: cst.BaseExpression) -> list[str]:
    elements = (
        [element.value for element in value.elements]
        if isinstance(value, (cst.Tuple, cst.List))
        else [value]
    )
    for each in elements:
        if not isinstance(each, (cst.SimpleString, cst.Integer)):
            raise Refused(f"the static arguments are not literals: {source.code(value)}")
    return [
        repr(each.evaluated_value)
        for each in elements
        if isinstance(each, (cst.SimpleString, cst.Integer))
    ]


def _tuple(values: list[str], has_parentheses: bool) -> str:
    quoted = ", ".join(value.replace("'", '"') for value in values)
    if has_parentheses:
        return quoted if len(values) > 1 else f"{quoted},"
    return quoted if len(values) == 1 else f"({quoted})"


def _plain_decorator(source: Source, call: cst.Call) -> tuple[Edit, ...]:
    """``@jax.jit`` for ``@partial(jax.jit)`` and ``@jax.jit()``, and no import left over."""
    if "jax.jit" in source.qualified(call.func):
        return (source.replace(call, source.code(call.func)),)
    plain = source.replace(call, source.code(call.args[0].value))
    name = source.code(call.func)
    if len(source.names_used(source.module, name)) > 2:  # the import, and this one
        return (plain,)
    for statement in source.module.body:
        if (
            isinstance(statement, cst.SimpleStatementLine)
            and source.code(statement).strip() == f"from functools import {name}"
        ):
            return (plain, _with_blank_line(source, source.delete(statement)))
    return (plain,)


def _with_blank_line(source: Source, edit: Edit) -> Edit:
    """Delete one of two blank lines that would follow each other too."""
    before, after = edit.begin.line - 2, edit.end.line - 1
    blank = [
        0 <= line < len(source.lines) and not source.lines[line].strip() for line in (before, after)
    ]
    return Edit(edit.begin, Position(edit.end.line + 1, 0), "") if all(blank) else edit
