"""Replaces a wait for the device in each iteration by one below the loop (JAX)."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.source import Loop, Source
from xladoctor.fixes.values import is_plain, is_reached

_WAIT = "jax.block_until_ready"
_MEMORY = "the data of steps that Python runs ahead fits into memory"


def fix(case: Case) -> Change:
    """For ``jax.block_until_ready(x)`` or ``x = step(x).block_until_ready()`` in a loop."""
    source = case.source
    statement = source.statement(case.line)
    loop = source.loop_of(statement, case.line)
    _refuse(source, loop)
    missing, outermost = _missing(source, statement, loop), [loop, *source.loops_around(loop)][-1]
    starts = bool(missing) and _can_be_none(source, statement, outermost, missing)
    edits = _edits(source, statement, loop, starts)
    behaviour = ""
    if starts:
        edits = (source.insert_before(outermost, f"{' = '.join(missing)} = None"), *edits)
    elif missing:
        behaviour = f"without an iteration of the loop, `{missing[0]}` is missing"
    return Change(
        f"wait once, below the loop in line {source.begin(loop).line}",
        edits,
        behaviour=behaviour,
        relies_on=(_MEMORY,),
    )


def _refuse(source: Source, loop: Loop) -> None:
    """Refuse loops that take the time of each iteration, or that others see an iteration of."""
    for call in source.all(cst.Call, loop.body):
        if "time" in effects(source, call).ordered:
            raise Refused(
                f"line {source.begin(call).line} times each iteration",
                "wait once, below the loop, and divide the time of the whole loop by its"
                " iterations",
            )
    for deleted in source.all(cst.Del, loop.body):
        raise Refused(f"`{source.code(deleted)}` in line {source.begin(deleted).line} deletes")
    for name in sorted(effects(source, loop.body).changes):
        uses = source.names_used(loop.body, name)
        if not uses or not is_plain(source, uses[0]):
            line = source.begin(uses[0] if uses else loop).line
            raise Refused(f"`{name}` is changed in line {line}, while the device may still use it")
    for name in sorted({each.value for each in source.variables(loop.body)} - {"_"}):
        uses = source.names_used(loop.body, name)
        if len(uses) > 1 and _is_of_numpy(source, uses[0]):
            line = source.begin(uses[0]).line
            raise Refused(f"`{name}` may be changed in line {line}, while the device may use it")
    for each in source.all((cst.Yield, cst.Return), loop.body):
        kind = type(each).__name__.lower()
        raise Refused(f"the loop has a `{kind}` in line {source.begin(each).line}")


def _is_of_numpy(source: Source, name: cst.Name) -> bool:
    """Whether a variable holds an array of NumPy that is made once, and may be filled again."""
    made = source.value_of(name)
    names = source.qualified(made.func) if isinstance(made, cst.Call) else set[str]()
    is_made_above = not source.loops_around(made) if made is not None else False
    return is_made_above and any(each.startswith("numpy.") for each in names)


def _missing(source: Source, statement: cst.SimpleStatementLine, loop: Loop) -> list[str]:
    """The variables that are not set if the loop has no iteration."""
    if is_reached(source, statement, loop):
        return []
    part = statement.body[0]
    waited = part.targets[0] if isinstance(part, cst.Assign) else part
    names = {each.value: each for each in source.variables(waited)}
    return [
        name
        for name, use in names.items()
        if source.bindings(use)
        and all(source.begin(each) > source.begin(loop) for each in source.bindings(use))
    ]


def _can_be_none(
    source: Source, statement: cst.SimpleStatementLine, loop: Loop, names: list[str]
) -> bool:
    """Whether variables may be None in front of a loop, as nothing looks at them elsewhere or
    before they are set, and what is waited for is no part of them.
    """
    part = statement.body[0]
    call = source.only_call(statement)
    if isinstance(part, cst.Expr) and call is not None:
        waited = _waited(source, call)
        if any(source.all((cst.Subscript, cst.BinaryOperation, cst.Attribute), waited)):
            return False
    for name in names:
        uses = source.names_used(source.owner(loop), name)
        set_at = min(map(source.begin, source.bindings(uses[0])))
        if any(loop not in source.around(use) or source.begin(use) < set_at for use in uses):
            return False
    return True


def _edits(
    source: Source, statement: cst.SimpleStatementLine, loop: Loop, of_none: bool
) -> tuple[Edit, ...]:
    """The edits; ``of_none`` if the value may be None, which has no method to wait."""
    match statement.body[0]:
        case cst.Expr(value=cst.Call() as call):
            waited = _waited(source, call)
            if any(source.all((cst.Call, cst.NamedExpr), waited)):
                raise Refused("what it waits for is computed in the same statement")
            text, edit = source.module.code_for_node(waited), source.delete(statement)
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=cst.Call() as call):
            waited = _waited(source, call)
            names = target.elements if isinstance(target, cst.Tuple) else [cst.Element(target)]
            if not all(isinstance(each.value, cst.Name) for each in names):
                raise Refused("it does not only assign variables")
            of_none = of_none or len(names) > 1
            text = f"({source.code(target)})" if len(names) > 1 else source.code(target)
            edit = source.replace(call, source.module.code_for_node(waited))
        case _:
            raise Refused("it does not just wait")
    if call.args:
        return edit, source.insert_after(loop, f"{source.code(call.func)}({text})")
    if not of_none:
        return edit, source.insert_after(loop, f"{text}.block_until_ready()")
    jax, imports = source.import_of("jax", statement)
    return edit, source.insert_after(loop, f"{jax}.block_until_ready({text})"), *imports


def _waited(source: Source, call: cst.Call) -> cst.BaseExpression:
    """What a call waits for."""
    match call:
        case cst.Call(args=[cst.Arg(value=value, star="", keyword=None)]) if source.qualified(
            call.func
        ) == {_WAIT}:
            return value
        case cst.Call(
            func=cst.Attribute(value=value, attr=cst.Name("block_until_ready")), args=[]
        ) if source.qualified(call.func) != {_WAIT}:
            return value
    raise Refused("it is not a call of block_until_ready() alone")
