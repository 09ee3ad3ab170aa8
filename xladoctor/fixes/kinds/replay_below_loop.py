"""What the host makes of each step's results happens below the loop, for all of them (JAX)."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.carried import refuse_handlers, refuse_shared
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.reads import called
from xladoctor.fixes.source import Source

#: Methods that only compute, of arrays and numbers.
_PURE = {"sum", "mean", "max", "min", "all", "any", "argmax", "argmin", "astype", "item", "tolist"}
#: Methods by which metrics take a step's results.
_UPDATES = {"update", "update_state", "add", "add_batch", "append", "extend", "record"}
_BUILTINS = {"float", "int", "round", "len", "abs", "max", "min", "sum", "bool", "zip"}
_MEMORY = "the results of all turns fit into memory"


def fix(case: Case) -> Change:
    """For ``right += (np.asarray(outputs) == labels).sum()`` or ``metric.update(…)`` in a loop."""
    source = case.source
    if case.frontend != "jax":
        raise Refused("only statements of JAX programs are moved below their loop")
    statement = source.statement(case.line)
    loops = source.loops_around(statement)
    if not loops or source.parent(statement) is not loops[0].body:
        raise Refused(f"line {case.line} is not a statement of a loop itself")
    loop = loops[0]
    name = _changed(statement)
    _refuse(source, loop, statement, name)
    results = _results(source, loop, statement, name)
    kept = _free(source, f"{name}_of_steps")
    module, imported = source.import_of("jax")
    source.refuse_shadowed(module, statement)
    given = f"({results[0]},)" if len(results) == 1 else f"({', '.join(results)})"
    targets = f"({results[0]},)" if len(results) == 1 else ", ".join(results)
    code = source.dedented(statement.body[0]).splitlines()
    return Change(
        f"change `{name}` below the loop in line {source.begin(loop).line}, for all turns",
        (
            source.insert_before(loop, f"{kept} = []"),
            source.replace(statement.body[0], f"{kept}.append({given})"),
            source.insert_after(
                loop,
                f"for {targets} in {module}.device_get({kept}):",
                *(source.module.default_indent + line for line in code),
            ),
            *imported,
        ),
        relies_on=(_MEMORY, f"nothing that the loop calls uses `{name}`"),
    )


def _changed(statement: cst.SimpleStatementLine) -> str:
    """The variable that a statement adds to, or the metric that it updates."""
    match statement.body[0]:
        case cst.AugAssign(target=cst.Name(name)):
            return name
        case cst.Expr(
            value=cst.Call(func=cst.Attribute(value=cst.Name(name), attr=cst.Name(method)))
        ) if name != "self" and method in _UPDATES:
            return name
    raise Refused("it neither adds to a variable nor updates a metric")


def _refuse(
    source: Source, loop: cst.For | cst.While, statement: cst.SimpleStatementLine, name: str
) -> None:
    """Refuse statements that do more, and loops that see what they do."""
    line = source.begin(statement).line
    if any(source.all((cst.NamedExpr, cst.Await, cst.Yield, cst.Lambda), statement)):
        raise Refused(f"line {line} does more than change `{name}`")
    if "donate" in source.text:
        raise Refused("the file donates arrays, which the next step then overwrites")
    for each in source.all((cst.Yield, cst.Return), loop):
        kind = type(each).__name__.lower()
        raise Refused(f"the loop has a `{kind}` in line {source.begin(each).line}")
    refuse_shared(source, source.function_around(statement) or source.module, name)
    refuse_handlers(source, loop, name)
    own = set(source.variables(statement))
    for use in source.names_used(loop, name):
        if use not in own:
            raise Refused(f"`{name}` is used in the loop in line {source.begin(use).line}, too")
    outer = statement.body[0]
    for call in source.all(cst.Call, statement):
        is_change = isinstance(outer, cst.Expr) and call is outer.value
        if not is_change and not _is_pure(source, call):
            raise Refused(f"`{source.code(call)}` may depend on when it is called")


def _is_pure(source: Source, call: cst.Call) -> bool:
    names = source.qualified(call.func)
    if any(each.startswith("numpy.") for each in names):
        return not any(each.startswith("numpy.random.") for each in names)
    if isinstance(call.func, cst.Name):
        return names == {f"builtins.{call.func.value}"} and call.func.value in _BUILTINS
    return called(call) in _PURE


def _results(
    source: Source, loop: cst.For | cst.While, statement: cst.SimpleStatementLine, name: str
) -> list[str]:
    """The variables of the turn that a statement uses: each is another object in each turn."""
    bound = source.names_bound(loop)
    found = dict[str, None]()
    for use in source.variables(statement):
        if use.value == name:
            continue
        if use.value in bound:
            found[use.value] = None
        elif not source.qualified(use) or any(
            not each.startswith(("numpy", "builtins.")) for each in source.qualified(use)
        ):
            raise Refused(f"`{use.value}` may be another by the end of the loop")
    if not found:
        raise Refused("it uses nothing that the loop sets")
    for result in found:
        for use in source.names_used(loop, result):
            above = source.parent(use)
            is_item = isinstance(above, cst.Subscript) and isinstance(
                source.parent(above), (cst.AssignTarget, cst.AugAssign)
            )
            if isinstance(above, cst.AugAssign) or is_item:
                raise Refused(f"`{result}` is changed in line {source.begin(use).line}")
            if source.begin(use) > source.end(statement) and isinstance(
                above, (cst.AssignTarget, cst.Element)
            ):
                raise Refused(f"`{result}` is set again in line {source.begin(use).line}")
    return list(found)


def _free(source: Source, name: str) -> str:
    if any(each.value == name for each in source.all(cst.Name)):
        raise Refused(f"the name `{name}` is taken")
    return name
