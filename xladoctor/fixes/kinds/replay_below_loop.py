"""Moves the host's work on each step's results below the loop, for all of them."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.carried import refuse_elsewhere, refuse_handlers, refuse_shared
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import refuse_effects, refuse_method
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.names import free
from xladoctor.fixes.source import Loop, Source, called
from xladoctor.fixes.step_end import above_barrier, refuse_barrier_elsewhere
from xladoctor.fixes.text import lines_of
from xladoctor.fixes.values import ends, is_kept

#: Methods by which metrics take a step's results.
_UPDATES = {"update", "update_state", "add", "add_batch", "append", "extend", "record"}
_ATOMS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)
_MEMORY = "the results of all iterations are kept until the loop is over"


def fix(case: Case) -> Change:
    """For ``right += (np.asarray(outputs) == labels).sum()`` or ``metric.update(…)`` in a loop."""
    source = case.source
    if case.frontend not in ("torch_xla", "jax"):
        raise Refused(f"statements of {case.frontend} programs are not moved below their loop")
    statement = source.statement(case.line)
    loop, name = source.loop_of(statement, case.line), _changed(statement)
    copied = _copied(source, statement) if case.frontend == "torch_xla" else None
    _refuse(source, loop, statement, name, copied)
    kept = free(source, f"{name}_of_steps")
    rebound = [copied] if copied is not None else source.variables(statement)
    names = {each.value for each in rebound if isinstance(each, cst.Name)}
    _refuse_rebound(source, loop, names - {name})
    edits = (
        _arrays(case, loop, statement, name, kept)
        if copied is None
        else _tensors(case, loop, statement, name, kept, copied)
    )
    return Change(
        f"change `{name}` below the loop in line {source.begin(loop).line}, for all iterations",
        (source.insert_before(loop, f"{kept} = []"), *edits),
        behaviour=_MEMORY,
        relies_on=("no iteration writes into the results of another",),
    )


def _arrays(
    case: Case, loop: Loop, statement: cst.SimpleStatementLine, name: str, kept: str
) -> tuple[Edit, ...]:
    """Arrays of JAX: all are fetched together, and the statement stays as it is."""
    source = case.source
    results = _results(source, loop, statement, name)
    if not results:
        raise Refused("it uses nothing that the loop sets")
    module, imported = source.import_of("jax", statement)
    fetched = f"{module}.device_get({kept})"
    code = source.dedented(statement.body[0])
    return (
        source.replace(statement.body[0], f"{kept}.append({_tuple(results)})"),
        _replayed(source, loop, results, fetched, code),
        *imported,
    )


def _tensors(
    case: Case,
    loop: Loop,
    statement: cst.SimpleStatementLine,
    name: str,
    kept: str,
    copied: cst.BaseExpression,
) -> tuple[Edit, ...]:
    """A tensor of PyTorch/XLA: it is computed in the step, and copied below the loop."""
    source = case.source
    if not isinstance(copied, cst.Name):
        refuse_barrier_elsewhere(case)
    target = copied.value if isinstance(copied, cst.Name) else free(source, "copied")
    text = source.code(copied)
    stored = text if called(copied) == "detach" else f"{text}.detach()"
    stored += "" if is_kept(source, copied) else ".clone()"
    results = [each for each in _results(source, loop, statement, name, copied) if each != target]
    code = source.dedented(statement.body[0], source.code_with(statement.body[0], copied, target))
    return (
        *above_barrier(
            case, statement, f"{kept}.append({_tuple([stored, *results])})", computed=copied
        ),
        _replayed(source, loop, [target, *results], kept, code),
    )


def _tuple(texts: list[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _replayed(source: Source, loop: Loop, targets: list[str], kept: str, code: str) -> Edit:
    """The statement below the loop, once for each of its iterations."""
    indented = (
        source.module.default_indent + line.rstrip("\n")
        for line in lines_of(code.replace("\r\n", "\n"))
    )
    names = _tuple(targets) if len(targets) == 1 else ", ".join(targets)
    return source.insert_after(loop, f"for {names} in {kept}:", *indented)


def _copied(source: Source, statement: cst.SimpleStatementLine) -> cst.BaseExpression:
    """What a statement copies to the host."""
    found = [
        call.func.value
        for call in source.all(cst.Call, statement)
        if called(call) == "cpu" and isinstance(call.func, cst.Attribute) and not call.args
    ]
    if len(found) != 1 or not isinstance(found[0], _ATOMS):
        raise Refused("it does not have just one .cpu() that copies")
    return found[0]


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
    source: Source,
    loop: Loop,
    statement: cst.SimpleStatementLine,
    name: str,
    copied: cst.BaseExpression | None,
) -> None:
    """Refuse statements that do more, and loops that see what they do."""
    if copied is None and "donate" in source.text:
        raise Refused("the file donates arrays, which the next step then overwrites")
    for each in source.all((cst.Yield, cst.Return), loop):
        kind = type(each).__name__.lower()
        raise Refused(f"the loop has a `{kind}` in line {source.begin(each).line}")
    refuse_shared(source, source.owner(statement), name)
    refuse_handlers(source, loop, name)
    own = set(source.variables(statement))
    for use in source.names_used(loop, name):
        if use not in own:
            raise Refused(f"`{name}` is used in the loop in line {source.begin(use).line}, too")
    block = source.parent(loop)
    after = [
        use
        for use in source.names_used(source.owner(loop), name)
        if source.begin(use) > source.end(loop)
    ]
    refuse_elsewhere(source, block, after)
    whole = statement.body[0]
    changing = [whole.value] if isinstance(whole, cst.Expr) else []
    match whole:
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Name() as updated)) as call):
            refuse_method(source, call)
            _refuse_shared_object(source, updated, loop)
    in_step = [] if copied is None else [*source.all(cst.Call, copied)]
    value = whole.value if isinstance(whole, cst.AugAssign) else whole
    refuse_effects(source, value, but=[*changing, *in_step])
    if not ends(source, loop):
        raise Refused("how many iterations the loop has is not known")


def _refuse_rebound(source: Source, loop: Loop, names: set[str]) -> None:
    """Refuse variables of the loop that are used after it, where they would be other objects."""
    outer = [loop, *source.loops_around(loop)][-1]
    for name in sorted(names & source.names_bound(loop)):
        for use in source.names_used(source.owner(loop), name):
            inside = [*source.around(use)]
            above = source.begin(use) < source.begin(outer) and (
                source.function_around(use) is source.function_around(loop)
            )
            if loop not in inside and not above and not source.is_bound_at(use):
                raise Refused(f"`{name}` is used after the loop, in line {source.begin(use).line}")


def _refuse_shared_object(source: Source, name: cst.Name, loop: Loop) -> None:
    """Refuse a metric that something else may have been given before the loop."""
    for use in source.names_used(source.owner(loop), name.value):
        is_argument = isinstance(source.parent(use), cst.Param)
        if source.begin(use) < source.begin(loop) and not (is_argument or source.is_bound_at(use)):
            above = source.parent(use)
            if not isinstance(above, cst.Attribute):
                raise Refused(f"`{name.value}` is used in line {source.begin(use).line}, too")


def _results(
    source: Source,
    loop: Loop,
    statement: cst.SimpleStatementLine,
    name: str,
    copied: cst.BaseExpression | None = None,
) -> list[str]:
    """The variables of the iteration that a statement uses: another object in each."""
    bound = source.names_bound(loop)
    found = dict[str, None]()
    in_step = [] if copied is None else source.variables(copied)
    for use in source.variables(statement):
        if use.value == name or (use in in_step and not isinstance(copied, cst.Name)):
            continue
        if use.value in bound:
            found[use.value] = None
        elif not source.qualified(use) or any(
            not each.startswith(("numpy", "builtins.")) for each in source.qualified(use)
        ):
            raise Refused(f"`{use.value}` may change by the end of the loop")
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
