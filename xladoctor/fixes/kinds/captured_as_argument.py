"""Passes arrays of the module that a compiled function closes over to it as arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import GlobalScope

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused, Unsuited
from xladoctor.fixes.names import compiles, function, is_of_module, read_from_around, varies
from xladoctor.fixes.parameters import more_parameters, passing, place_of, refuse_signature
from xladoctor.fixes.source import Source, keyword

_JIT = frozenset(("jax.jit",))
#: Settings of the compiler that hold whatever further arguments there are.
_KEPT = frozenset(("static_argnums", "static_argnames", "donate_argnums", "donate_argnames"))
#: Functions of arrays that need values while JAX traces: the sizes of their results.
_SIZED = frozenset(
    f"jax.numpy.{name}"
    for name in ("arange", "empty", "eye", "full", "linspace", "nonzero", "ones", "unique", "zeros")
)
#: Methods and attributes of arrays that need no values, whether these are known or not.
_TRACED = frozenset(
    (
        *("T", "all", "any", "argmax", "argmin", "argsort", "astype", "at", "cumsum", "dot"),
        *("dtype", "flatten", "max", "mean", "min", "ndim", "prod", "ravel", "reshape", "shape"),
        *("size", "sort", "squeeze", "std", "sum", "swapaxes", "take", "transpose", "var"),
    )
)
_HERE = (cst.Element, cst.Index, cst.Slice, cst.Subscript, cst.SubscriptElement, cst.Tuple)


def fix(case: Case) -> Change:
    """For a function of the module that is compiled once and only called, in this file."""
    source, compiled = case.source, str(case.cause.get("compiled") or "")
    names = [str(each) for each in case.cause.get("arguments") or ()]
    if case.frontend != "jax":
        raise Unsuited("only JAX makes constants of what a compiled function closes over")
    if not names:
        raise Refused("it is not known which variables hold the arrays")
    of = function(source, compiled)
    if of is None:
        raise Refused(f"{compiled or 'what is compiled'} is not a function of this file's module")
    refuse_signature(of)
    read = read_from_around(source, of)
    for name in names:
        _refuse_variable(source, of, name, read.get(name, []))
    _refuse_imported(source, compiled)
    calls = [passing(source, call, names) for call in _calls(source, of, names)]
    at = place_of(source, of)
    return Change(
        f"pass {' and '.join(f'`{name}`' for name in names)} to `{compiled}` as"
        f" {'an argument' if len(names) == 1 else 'arguments'}",
        (Edit(at, at, more_parameters(of, names)), *calls),
        behaviour="XLA computes in each call what it computed once, while it compiled; sums may"
        " differ in their last digits",
        relies_on=(f"no other file calls `{compiled}`",),
    )


def _refuse_variable(
    source: Source, of: cst.FunctionDef, name: str, uses: Sequence[cst.Name]
) -> None:
    """Refuse a variable that is not one array of the device, or whose values tracing needs."""
    if not uses:
        raise Refused(f"`{name}` is not read in `{of.name.value}` itself, but in what it calls")
    if not is_of_module(source, uses[0]) or varies(source, uses[0], of):
        raise Refused(f"`{name}` may hold something else after the first call")
    made = [
        each.value
        for each in source.all(cst.Assign)
        if any(source.code(target.target) == name for target in each.targets)
    ]
    if len(made) != 1 or not _is_on_device(source, made[0]):
        raise Refused(
            f"`{name}` may be no array of JAX, which each call would send to the device again",
            f"make it one where it is defined: {name} = jnp.asarray(…)",
        )
    _follow(source, of, name, set())


def _is_on_device(source: Source, made: cst.BaseExpression) -> bool:
    """Whether an expression makes an array of JAX: a call of its functions, or a part of one."""
    if isinstance(made, cst.Call) and any(
        name.startswith("jax.") for name in source.qualified(made.func)
    ):
        return True
    if isinstance(made, cst.BinaryOperation):
        return _is_on_device(source, made.left) or _is_on_device(source, made.right)
    if isinstance(made, (cst.Attribute, cst.Subscript)):
        return _is_on_device(source, made.value)
    return isinstance(made, cst.Call) and _is_on_device(source, made.func)


def _follow(source: Source, of: cst.FunctionDef, name: str, known: set[str]) -> None:
    """Refuse what needs the values of a variable, or of what is computed from it, in tracing."""
    known.add(name)
    for use in source.names_used(of.body, name):
        if not isinstance(source.parent(use), cst.AssignTarget):
            for target in _computed(source, use):
                if target not in known:
                    _follow(source, of, target, known)


def _computed(source: Source, use: cst.CSTNode) -> Iterator[str]:
    """The variables that hold what is computed from a use."""
    node, above = use, source.parent(use)
    while above is not None and not isinstance(above, (cst.Return, cst.Lambda, cst.Expr)):
        if isinstance(above, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
            targets = [each.target for each in getattr(above, "targets", [above])]
            yield from (source.code(each) for each in targets)
            return
        if not _needs_no_value(source, node, above):
            raise Refused(
                f"line {source.begin(use).line} may need its values while JAX traces:"
                f" `{source.code(above)[:60]}`"
            )
        node, above = above, source.parent(above)


def _needs_no_value(source: Source, node: cst.CSTNode, above: cst.CSTNode) -> bool:
    if isinstance(above, cst.Attribute):
        return above.attr.value in _TRACED
    if isinstance(above, cst.Call):
        if node is above.func:
            return True
        names = source.qualified(above.func)
        is_method = isinstance(above.func, cst.Attribute) and above.func.attr.value in _TRACED
        is_known = bool(names) and all(name.startswith("jax.") for name in names)
        return is_method or names == {"builtins.len"} or (is_known and not names & _SIZED)
    return isinstance(above, (*_HERE, cst.Arg, cst.BinaryOperation, cst.UnaryOperation))


def _calls(source: Source, of: cst.FunctionDef, names: Sequence[str]) -> list[cst.Call]:
    """The calls of the compiled function.

    Raises:
        Refused: it is compiled in several places or with settings that name its arguments, is used
            otherwise than by calls, or one of the names means something else at a call.
    """
    own = of.name.value
    if of.decorators:
        by: list[cst.BaseExpression] = [each.decorator for each in of.decorators]
        held = own
    else:
        made = [
            call
            for call in source.calls_of(_JIT, source.module)
            if call.args and source.code(call.args[0].value) == own
        ]
        by = [*made]
        held = _held(source, made[0]) if len(made) == 1 else own
    if len(by) != 1 or not compiles(source, by[0], _JIT):
        raise Refused(f"`{own}` is not compiled in exactly one place of this file, and that alone")
    _refuse_settings(source, by[0])
    uses = source.names_used(source.module, held)
    if held != own and len(source.names_used(source.module, own)) > 2:
        raise Refused(f"`{own}` is used without being compiled, too")
    calls = []
    for use in uses:
        above = source.parent(use)
        if above is of or isinstance(above, cst.AssignTarget):
            continue
        if not isinstance(above, cst.Call) or above.func is not use:
            raise Refused(f"line {source.begin(use).line} uses `{held}` otherwise than in a call")
        _refuse_other_meaning(source, above, names)
        calls.append(above)
    if not calls:
        raise Refused(f"this file does not call `{held}`")
    return calls


def _held(source: Source, call: cst.Call) -> str:
    """The variable of the module that holds a compiled function."""
    match source.parent(call):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name) as target)]):
            if is_of_module(source, target):
                return name
    raise Refused("what is compiled is not kept in one variable of the module")


def _refuse_settings(source: Source, by: cst.BaseExpression) -> None:
    """Refuse settings that are about all arguments, or count them from the last."""
    for arg in by.args if isinstance(by, cst.Call) else ():
        name = keyword(arg)
        if name and name not in _KEPT:
            raise Refused(f"it is compiled with `{name}`, which may be about all arguments")
        if name.endswith("argnums") and not re.fullmatch(r"[\d(),\[\] ]*", source.code(arg.value)):
            raise Refused(f"`{source.code(arg)}` may mean another argument then")


def _refuse_other_meaning(source: Source, call: cst.Call, names: Sequence[str]) -> None:
    scope = source.scope(call)
    for name in names:
        bound = list(scope[name]) if scope else []
        if len(bound) != 1 or not isinstance(bound[0].scope, GlobalScope):
            line = source.begin(call).line
            raise Refused(f"`{name}` means something else at the call in line {line}")


def _refuse_imported(source: Source, name: str) -> None:
    """Refuse a function that a file beside this one takes from it."""
    module = re.compile(rf"\b(?:from|import)\b.*\b{re.escape(source.path.stem)}\b")
    for other in sorted(source.path.parent.glob("*.py")):
        try:
            text = other.read_text("utf-8") if other != source.path else ""
        except (OSError, UnicodeDecodeError):
            continue
        if module.search(text) and re.search(rf"\b{re.escape(name)}\b", text):
            raise Refused(f"{other.name} may call `{name}`, too")
