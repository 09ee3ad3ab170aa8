"""Whether code of JAX only computes with arrays, so that it may be compiled as a function."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.calls import TRACED
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.names import function, read_from_around, varies
from xladoctor.fixes.source import Source

#: Statements and expressions that need values while JAX traces, or that do something besides.
_IMPURE = (
    *(cst.Assert, cst.Await, cst.BooleanOperation, cst.Del, cst.FormattedString, cst.Global),
    *(cst.If, cst.IfExp, cst.Import, cst.ImportFrom, cst.Match, cst.NamedExpr, cst.Nonlocal),
    *(cst.Raise, cst.Try, cst.TryStar, cst.While, cst.With, cst.Yield, cst.Not),
)
#: Built-in functions that do not need the values of arrays.
_BUILT_IN = frozenset(f"builtins.{name}" for name in ("enumerate", "len", "sum", "tuple", "zip"))
#: Functions that have sizes among their arguments.
_SIZED = frozenset(
    f"jax.numpy.{name}"
    for name in (
        *("arange", "array", "broadcast_to", "empty", "eye", "full", "linspace", "nonzero", "ones"),
        *("repeat", "reshape", "tile", "tri", "unique", "where", "zeros"),
    )
)
_IN_PLACE_OF_AT = frozenset(("add", "apply", "divide", "get", "max", "min", "multiply", "set"))
#: Functions that return functions of arrays.
_MAKERS = ("jax.jit", "jax.grad", "jax.value_and_grad", "jax.vmap")


class Pure:
    """Refuses functions that do more than compute with arrays, or that need their values."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: set[str] = set()

    def check(self, definition: cst.FunctionDef) -> None:
        """A function of the module, and those that it calls.

        Raises:
            Refused: it does something else too.
        """
        name = definition.name.value
        self._seen.add(name)
        if definition.asynchronous:
            raise Refused(f"{name} is asynchronous")
        params = {each.name.value for each in definition.params.params}
        self.check_code(definition.body, name, params)
        for own in self._source.all(cst.AugAssign, definition.body):
            if self._source.code(own.target) in params:
                line = self._source.begin(own).line
                raise Refused(f"{name} changes its argument in line {line}")
        for read, uses in read_from_around(self._source, definition).items():
            if read != name and varies(self._source, uses[0], definition):
                raise Refused(f"{name} reads {read}, which may change between its calls")

    def check_code(self, code: cst.CSTNode, name: str, arguments: set[str]) -> None:
        """A piece of code with a name to call it by, of which some variables will be arguments.

        Raises:
            Refused: it does more than compute with arrays, or needs their values.
        """
        source = self._source
        for each in source.all(_IMPURE, code):
            line = source.begin(each).line
            raise Refused(f"{name} does more than compute with arrays, in line {line}")
        targets = (
            *(each.target for each in source.all(cst.AssignTarget, code)),
            *(each.target for each in source.all(cst.AugAssign, code)),
        )
        for assigned in targets:
            if any(source.all((cst.Attribute, cst.Subscript), assigned)):
                raise Refused(f"{name} changes `{source.code(assigned)}`")
        for call in source.all(cst.Call, code):
            self._call(call, arguments)

    def _call(self, call: cst.Call, arguments: set[str]) -> None:
        source, names = self._source, self._source.qualified(call.func)
        if any(name.startswith("optax.") for name in names) or self._is_made(call.func):
            return
        if isinstance(call.func, cst.Attribute) and not self._of_module(call.func):
            at, method = call.func.value, call.func.attr.value
            if method not in TRACED and not (
                isinstance(at, cst.Subscript) and method in _IN_PLACE_OF_AT
            ):
                raise Refused(f"it calls `{source.code(call.func)}`")
        elif any(each.startswith("jax.") and not _has_effects(each) for each in names):
            if names & _SIZED and self._takes(call, arguments):
                raise Refused(f"`{source.code(call)}` may take a size from its arguments")
        elif not names & _BUILT_IN:
            own = function(source, source.code(call.func))
            if own is None:
                raise Refused(f"it calls `{source.code(call.func)}`")
            if own.name.value not in self._seen:
                self.check(own)

    def _is_made(self, func: cst.BaseExpression) -> bool:
        """Whether a function is one that JAX made, or a method of an optimizer of optax."""
        made = func
        prefix: tuple[str, ...] = _MAKERS
        if isinstance(func, cst.Attribute) and func.attr.value in ("init", "update"):
            made, prefix = func.value, ("optax.",)
        if not isinstance(made, cst.Name):
            return False
        scope = self._source.scope(made)
        bound = list(scope[made.value]) if scope else []
        assigned = self._source.assigned(made.value)
        return len(bound) == len(assigned) == 1 and any(
            name.startswith(prefix)
            for value in assigned
            if isinstance(value, cst.Call)
            for name in self._source.qualified(value.func)
        )

    def _of_module(self, func: cst.Attribute) -> bool:
        return any(
            name.startswith("jax.") for name in self._source.qualified(func)
        ) and not isinstance(func.value, (cst.Call, cst.Subscript))

    def _takes(self, call: cst.Call, arguments: set[str]) -> bool:
        names = {each.value for arg in call.args for each in self._source.all(cst.Name, arg)}
        return bool(arguments & names) and "jax.numpy.where" not in self._source.qualified(
            call.func
        )


def _has_effects(name: str) -> bool:
    return name.startswith(("jax.debug", "jax.experimental", "jax.random.key", "jax.config"))
