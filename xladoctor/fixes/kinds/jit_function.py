"""``@jax.jit`` on a function of the module whose operations are launched one by one."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.names import function, read_from_around, top_statement, varies
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
_METHODS = frozenset(
    (
        *("all", "any", "astype", "conj", "cumsum", "dot", "flatten", "max", "mean", "min", "prod"),
        *("ravel", "squeeze", "std", "sum", "swapaxes", "transpose", "var"),
    )
)
_IN_PLACE_OF_AT = frozenset(("add", "apply", "divide", "get", "max", "min", "multiply", "set"))


def fix(case: Case) -> Change:
    """For the function that the finding's line is in."""
    source = case.source
    if case.frontend != "jax":
        raise Unsuited("only functions of JAX are compiled by jax.jit")
    definitions = [
        each
        for each in source.module.body
        if isinstance(each, cst.FunctionDef) and source.covers(each, case.line)
    ]
    if not definitions:
        raise Refused(
            "the line is in no function of the module",
            "put all operations of a step into one function under @jax.jit",
        )
    definition = definitions[0]
    _refuse(source, definition)
    while (caller := _caller(source, definition)) is not None:
        definition = caller
    name = definition.name.value
    if not any(source.loops_around(each) for each in _called(source, definition)):
        raise Refused(f"{name} is not called in a loop of this file")
    jax, imports = source.import_of("jax")
    return Change(
        f"compile `{name}`",
        (source.insert_before(definition, f"@{jax}.jit"), *imports),
        relies_on=(
            f"what {name} is given are arrays or numbers, in few shapes",
            "fused operations may round differently",
        ),
    )


def _refuse(source: Source, definition: cst.FunctionDef) -> None:
    if definition.decorators:
        raise Refused(f"{definition.name.value} has a decorator")
    _Pure(source).check(definition)


def _called(source: Source, definition: cst.FunctionDef) -> list[cst.Name]:
    """Where else a function of the module is called."""
    return [
        each
        for each in source.names_used(source.module, definition.name.value)
        if isinstance(source.parent(each), cst.Call) and definition not in source.around(each)
    ]


def _caller(source: Source, definition: cst.FunctionDef) -> cst.FunctionDef | None:
    """The one function that alone calls a function, if it can be compiled too."""
    tops = {
        id(top): top
        for each in _called(source, definition)
        for top in (top_statement(source, each),)
    }
    (caller,) = tops.values() if len(tops) == 1 else (None,)
    if not isinstance(caller, cst.FunctionDef):
        return None
    try:
        _refuse(source, caller)
    except Refused:
        return None
    return caller


class _Pure:
    """Refuses functions that do more than compute with arrays, or that need their values."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: set[str] = set()

    def check(self, definition: cst.FunctionDef) -> None:
        """A function of the module, and those that it calls."""
        source, name = self._source, definition.name.value
        self._seen.add(name)
        if definition.asynchronous:
            raise Refused(f"{name} is asynchronous")
        for each in source.all(_IMPURE, definition.body):
            line = source.begin(each).line
            raise Refused(f"{name} does more than compute with arrays, in line {line}")
        targets = (
            *(each.target for each in source.all(cst.AssignTarget, definition.body)),
            *(each.target for each in source.all(cst.AugAssign, definition.body)),
        )
        for assigned in targets:
            if any(source.all((cst.Attribute, cst.Subscript), assigned)):
                raise Refused(f"{name} changes `{source.code(assigned)}`")
        for call in source.all(cst.Call, definition.body):
            self._call(call, definition)
        for read, uses in read_from_around(source, definition).items():
            if read != name and varies(source, uses[0], definition):
                raise Refused(f"{name} reads {read}, which may change between its calls")

    def _call(self, call: cst.Call, definition: cst.FunctionDef) -> None:
        source, names = self._source, self._source.qualified(call.func)
        if isinstance(call.func, cst.Attribute) and not self._of_module(call.func):
            method = call.func.attr.value
            at = call.func.value
            if isinstance(at, cst.Subscript) and method in _IN_PLACE_OF_AT:
                return
            if method not in _METHODS:
                raise Refused(f"it calls `{source.code(call.func)}`")
            return
        if names & _BUILT_IN:
            return
        if any(each.startswith("jax.") and not _has_effects(each) for each in names):
            if names & _SIZED and self._takes_arguments(call, definition):
                raise Refused(f"`{source.code(call)}` may take a size from its arguments")
            return
        own = function(source, source.code(call.func))
        if own is None:
            raise Refused(f"it calls `{source.code(call.func)}`")
        if own.name.value not in self._seen:
            self.check(own)

    def _of_module(self, func: cst.Attribute) -> bool:
        return any(
            name.startswith("jax.") for name in self._source.qualified(func)
        ) and not isinstance(func.value, (cst.Call, cst.Subscript))

    def _takes_arguments(self, call: cst.Call, definition: cst.FunctionDef) -> bool:
        params = {each.name.value for each in definition.params.params}
        names = {each.value for arg in call.args for each in self._source.all(cst.Name, arg)}
        return bool(params & names) and "jax.numpy.where" not in self._source.qualified(call.func)


def _has_effects(name: str) -> bool:
    return name.startswith(("jax.debug", "jax.experimental", "jax.random.key", "jax.config"))
