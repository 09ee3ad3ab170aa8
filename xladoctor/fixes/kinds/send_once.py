"""Puts data that does not change on the device once, before the loop."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.calls import Does
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects, what
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.names import function
from xladoctor.fixes.source import Loop, Source, called
from xladoctor.fixes.values import escapes, is_new, is_own, is_reached

_SENDS = {"jax.device_put", "jax.numpy.asarray", "jax.numpy.array"}
_CHAIN = {"to", "float", "long", "tensor", "from_numpy", "as_tensor"}
_MODULES = {"jax", "jax.numpy", "torch", "numpy"}


def fix(case: Case) -> Change:
    """For ``table = jax.device_put(TABLE)`` in a loop, or a NumPy array that a call is given."""
    source = case.source
    statement = source.statement(case.line)
    loops = source.loops_around(statement)
    if not loops:
        raise Refused(f"no loop of this function is around line {case.line}")
    if "donate" in source.text:
        raise Refused("the file donates arguments, which have to be sent again")
    match statement.body[0]:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(name))], value=cst.Call() as sent
        ) if _is_sending(source, sent):
            return _hoisted(case, statement, loops[0], name, sent)
    if case.frontend != "jax":
        raise Refused("it seems to send different data in each iteration")
    return _argument_sent(case, statement, loops[0])


def _is_sending(source: Source, call: cst.Call) -> bool:
    """Whether a call puts data on the device, and does nothing else."""
    if called(call) != "to" and not source.qualified(call.func) & _SENDS:
        return False
    return all(
        called(each) in _CHAIN or what(source, each) in (Does.views, Does.computes)
        for each in source.all(cst.Call, call)
    )


def _hoisted(
    case: Case, statement: cst.SimpleStatementLine, loop: Loop, name: str, sent: cst.Call
) -> Change:
    """The statement itself above the loop."""
    source = case.source
    if source.parent(statement) is not loop.body:
        raise Refused(f"line {case.line} is not a statement of the loop itself")
    given = {each.value for each in source.variables(sent)}
    changing = given & source.names_bound(loop)
    if changing:
        raise Refused(f"`{min(changing)}` differs in each iteration")
    data = {each.value for each in source.variables(sent) if not _is_harmless(source, each)}
    for other in sorted(_related(source, data, sent) - data):
        if source.names_used(loop, other):
            raise Refused(f"`{min(data)}` may change with `{other}`")
    inside = set(source.names_used(loop, name))
    outside = [use for use in source.names_used(source.owner(statement), name) if use not in inside]
    if outside and not is_reached(source, statement, loop):
        line = source.begin(outside[0]).line
        raise Refused(f"`{name}` is used in line {line}, and the loop may have no iteration")
    own = set(source.variables(statement))
    for use in source.variables(loop):
        if use.value in given and use not in own and not _is_harmless(source, use):
            line = source.begin(use).line
            raise Refused(f"`{use.value}` is used in line {line}, too, which may change it")
        if use.value == name and use not in own:
            _refuse_change(source, statement, use)
    return Change(
        f"put `{name}` on the device once, above the loop in line {source.begin(loop).line}",
        (
            source.delete(statement),
            source.insert_before(loop, source.dedented(statement.body[0])),
        ),
        behaviour=_shared(source, statement, name, given),
    )


def _related(source: Source, names: set[str], but: cst.Call) -> set[str]:
    """Variables that may hold the same data as these, as far as assignments show."""
    groups = [
        {each.value for each in source.variables(assign) if not _is_harmless(source, each)}
        for assign in source.all(cst.Assign)
        if assign.value is not but and _may_share(source, assign.value)
    ]
    found = names - source.imported
    while joined := [
        group for group in groups if group & found and not group - source.imported <= found
    ]:
        found = found.union(*joined) - source.imported
    return found


def _may_share(source: Source, value: cst.BaseExpression) -> bool:
    """Whether a value may be the data of a variable, or a view of them."""
    is_view = isinstance(value, cst.Call) and what(source, value) is Does.views
    return isinstance(value, cst.Name) or is_view or not is_new(source, value)


def _shared(source: Source, statement: cst.CSTNode, name: str, given: set[str]) -> str:
    """What the iterations share, if anything may change it; else an empty text."""
    data = [each for each in sorted(given) if not is_own(source, statement, each)]
    uses = [use for use in source.variables(statement) if use.value in data]
    changing = [use.value for use in uses if not _is_harmless(source, use)]
    passed = [
        use
        for use in source.names_used(source.owner(statement), name)
        if escapes(source, use) and not source.is_bound_at(use)
    ]
    if not changing and not passed:
        return ""
    whole = f"`{name}` is one object in all iterations"
    return f"{whole}, whatever becomes of `{min(changing)}`" if changing else whole


def _is_harmless(source: Source, use: cst.Name) -> bool:
    """Whether a use is that of a module, or of the device that something is put on."""
    match source.parent(use):
        case cst.Attribute(value=cst.Name()) if source.qualified(use) & _MODULES:
            return True
        case cst.Arg() as arg:
            call = source.parent(arg)
            return isinstance(call, cst.Call) and called(call) == "to"
    return False


def _refuse_change(source: Source, statement: cst.CSTNode, use: cst.Name) -> None:
    """Refuse a use that changes the variable, or that is above the statement."""
    line = source.begin(use).line
    if source.begin(use) < source.begin(statement):
        raise Refused(f"`{use.value}` is used above the statement, in line {line}")
    around = [each for each in source.around(use) if isinstance(each, cst.BaseStatement)]
    if isinstance(around[0], cst.SimpleStatementLine) and use.value in source.names_bound(
        around[0]
    ):
        raise Refused(f"`{use.value}` is changed in line {line}")
    match source.parent(use):
        case cst.Attribute(attr=cst.Name(method)) if method.endswith("_"):
            raise Refused(f"`{use.value}` is changed in place in line {line}")


def _argument_sent(case: Case, statement: cst.SimpleStatementLine, loop: Loop) -> Change:
    """The NumPy arrays among the arguments of the statement's call, sent where they are made."""
    source = case.source
    bound = source.names_bound(loop)
    for call in source.all(cst.Call, statement):
        own = function(source, source.code(call.func))
        if own is not None and effects(source, own.body).changes:
            raise Refused(f"{own.name.value}() may change its argument")
    names = dict.fromkeys(
        arg.value.value
        for call in source.all(cst.Call, statement)
        for arg in call.args
        if isinstance(arg.value, cst.Name) and not arg.star and arg.value.value not in bound
    )
    made = {name: line for name in names if (line := _made_by_numpy(source, statement, loop, name))}
    if not made:
        raise Refused("no argument is known to be a NumPy array that stays the same")
    module, imported = source.import_of("jax", statement)
    names_shown = ", ".join(f"`{name}`" for name in made)
    return Change(
        f"put {names_shown} on the device once",
        (
            *(
                source.insert_after(line, f"{name} = {module}.device_put({name})")
                for name, line in made.items()
            ),
            *imported,
        ),
    )


def _made_by_numpy(
    source: Source, statement: cst.SimpleStatementLine, loop: Loop, name: str
) -> cst.SimpleStatementLine | None:
    """The statement above the loop that makes a NumPy array, which only this statement uses."""
    scope = source.owner(statement)
    for line in source.body_around(loop):
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(target))], value=value)]
            ) if target == name and source.end(line) < source.begin(loop):
                own = [*source.names_used(line, name), *source.names_used(statement, name)]
                used_elsewhere = len(source.names_used(scope, name)) > len(own)
                return line if _is_numpy(source, scope, value) and not used_elsewhere else None
    return None


def _is_numpy(source: Source, scope: cst.CSTNode, value: cst.BaseExpression) -> bool:
    """Whether a value is made by a function of NumPy, or by one of its generators."""
    while isinstance(value, cst.Call):
        if what(source, value) in (Does.computes, Does.draws):
            return any(name.startswith("numpy.") for name in source.qualified(value.func))
        if not isinstance(value.func, cst.Attribute):
            return False
        value = value.func.value
    if not isinstance(value, cst.Name):
        return False
    return any(
        isinstance(each, cst.Call) and source.qualified(each.func) == {"numpy.random.default_rng"}
        for each in source.assigned(value.value, scope)
    )
