"""Creates an object once, before the loop that creates an equal one in each iteration."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from xladoctor.fixes.calls import Does
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects, what
from xladoctor.fixes.interface import Change, Edit, Refused, Unsuited
from xladoctor.fixes.names import changed_in_place, fresh, function, read_from_around, varies
from xladoctor.fixes.source import Source, argument

_MAKERS = frozenset(("__init__", "__post_init__"))
_PATH = ".[("


def fix(case: Case) -> Change:
    """For the argument that the finding names, in the call of the compiled function."""
    source, argument = case.source, str(case.cause.get("argument") or "")
    name = argument[: min((argument + _PATH).find(each) for each in _PATH)]
    if argument.startswith("self."):
        raise Unsuited(f"{argument} is not passed to the function")
    if not name.isidentifier():
        raise Unsuited("the finding does not name an argument")
    values = [*_values(case, name)]
    if len(values) != 1:
        raise Refused(f"the lines that the finding names do not show where {name} is passed")
    value, statement = values[0]
    loops = source.loops_around(statement)
    if not loops:
        raise Refused("the call is not in a loop of its function")
    if not isinstance(value, cst.Name):
        return _moved(source, value, name, loops[-1])
    assign = _assignment(source, value, loops[-1])
    if _is_constant(source, assign.value, loops[-1]):
        return _moved_statement(source, assign, value.value, loops[-1])
    parts = [
        each
        for each in source.all(cst.Lambda, assign.value)
        if _is_constant(source, each, loops[-1])
    ]
    if len(parts) != 1:
        raise Refused(f"{value.value} is made from what changes in the loop")
    return _moved(source, parts[0], _label(source, parts[0]), loops[-1])


def _values(case: Case, name: str) -> Iterator[tuple[cst.BaseExpression, cst.CSTNode]]:
    """What is passed as an argument, on the lines of the finding, with the statement."""
    source = case.source
    compiled = function(source, str(case.cause.get("compiled") or "").rpartition(".")[2])
    for line in dict.fromkeys(place.line for place in case.finding.locations):
        for statement in source.all(cst.SimpleStatementLine):
            if not source.covers(statement, line):
                continue
            for call in source.all(cst.Call, statement):
                yield from _passed(source, call, name, compiled, statement)


def _passed(
    source: Source,
    call: cst.Call,
    name: str,
    compiled: cst.FunctionDef | None,
    statement: cst.CSTNode,
) -> Iterator[tuple[cst.BaseExpression, cst.CSTNode]]:
    if (value := argument(call, name)) is not None:
        yield value, statement
        return
    if compiled is None or source.code(call.func) != compiled.name.value:
        named = (arg.value for arg in call.args if source.code(arg.value) == name and not arg.star)
        yield from ((value, statement) for value in named)
        return
    names = [each.name.value for each in (*compiled.params.posonly_params, *compiled.params.params)]
    place = names.index(name) if name in names else len(call.args)
    if place < len(call.args) and not any(arg.star for arg in call.args[: place + 1]):
        yield call.args[place].value, statement


def _assignment(source: Source, value: cst.Name, loop: cst.CSTNode) -> cst.Assign:
    """The one statement in the loop that makes what a variable holds.

    Raises:
        Refused: there is another, or the object is changed.
    """
    found = []
    for use in source.names_used(loop, value.value):
        above = source.parent(use)
        if isinstance(above, cst.AssignTarget):
            assign = source.parent(above)
            if isinstance(assign, cst.Assign) and len(assign.targets) == 1:
                found.append(assign)
                continue
        call = source.parent(above) if isinstance(above, cst.Arg) else None
        if not isinstance(call, cst.Call) or what(source, call) is Does.changes:
            raise Refused(f"{value.value} has uses other than as an argument")
    if value.value in changed_in_place(source):
        raise Refused(f"{value.value} is changed in place")
    if len(found) != 1:
        raise Refused(f"{value.value} is not assigned exactly once in the loop")
    return found[0]


def _is_constant(source: Source, value: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Whether an expression makes the same object in each iteration, as far as is seen: a
    function, or an instance of a class, that reads nothing which changes.
    """
    if isinstance(value, cst.Call):
        if not _makes_object(source, value):
            return False
    elif not isinstance(value, cst.Lambda):
        return False
    read = read_from_around(source, value).values()
    return not any(varies(source, uses[0], loop) for uses in read)


def _makes_object(source: Source, call: cst.Call) -> bool:
    """Whether a call is one of a class, a type made on the spot, or ``partial``, and has no other
    calls in it, which might draw or read something.
    """
    inner = [each for each in source.all(cst.Call, call) if each is not call]
    if isinstance(call.func, cst.Call):
        return inner == [call.func] and "builtins.type" in source.qualified(call.func.func)
    if inner:
        return False
    name = source.code(call.func).rpartition(".")[2]
    classes = _with_bases(source, name)
    if any(_changes(source, each) for each in classes):
        return False
    return bool(classes) or "functools.partial" in source.qualified(call.func)


def _with_bases(source: Source, name: str) -> list[cst.ClassDef]:
    """The classes of the file with a name, and those that they are made from."""
    found = [each for each in source.all(cst.ClassDef) if each.name.value == name]
    above = [source.code(base.value) for each in found for base in each.bases]
    return [*found, *(each for base in above if base != name for each in _with_bases(source, base))]


def _changes(source: Source, class_: cst.ClassDef) -> bool:
    """Whether making an object has an effect, or a method changes one."""
    for each in source.all(cst.FunctionDef, class_):
        found, makes = effects(source, each.body), each.name.value in _MAKERS
        others = found.changes - ({"self"} if makes else set())
        if others or found.ordered or (makes and found.unknown is not None):
            return True
    return False


def _moved(source: Source, value: cst.BaseExpression, label: str, loop: cst.CSTNode) -> Change:
    if not _is_constant(source, value, loop):
        raise Refused(f"{label} is made from what changes in the loop")
    is_taken = bool(source.names_used(source.owner(loop), label))
    name = fresh(source, f"{label}_once") if is_taken else label
    code = source.code(value)
    if "\n" in code:
        raise Refused(f"{label} is made on several lines")
    lines = [f"{name} = {code}"]
    if isinstance(value, cst.Lambda):
        params = source.code(value.params) if value.params.params else ""
        lines = [f"def {name}({params}):", f"    return {source.code(value.body)}"]
        inserted = source.insert_function_above(loop, *lines)
    else:
        inserted = source.insert_above(loop, *lines)
    return _change(name, inserted, source.replace(value, name))


def _moved_statement(source: Source, assign: cst.Assign, name: str, loop: cst.CSTNode) -> Change:
    statement = source.statement(source.begin(assign).line)
    if source.parent(statement) is not getattr(loop, "body", None):
        raise Refused(f"{name} is made under a condition or in an inner loop")
    lines = source.dedented(assign).split("\n")
    return _change(name, source.insert_above(loop, *lines), source.cut(statement))


def _change(name: str, inserted: Edit, edit: Edit) -> Change:
    return Change(
        f"make `{name}` once, before the loop",
        (inserted, edit),
        relies_on=("it is equal in each iteration, and not changed afterwards",),
    )


def _label(source: Source, value: cst.Lambda) -> str:
    """A name for a function: of the argument or field that it is passed as."""
    arg = source.parent(value)
    call = source.parent(arg) if arg is not None else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call):
        return "function"
    if arg.keyword is not None:
        return arg.keyword.value
    fields = [
        each.target.value
        for cls in source.all(cst.ClassDef)
        if cls.name.value == source.code(call.func)
        for each in source.all(cst.AnnAssign, cls.body)
        if isinstance(each.target, cst.Name)
    ]
    place = call.args.index(arg)
    return fields[place] if place < len(fields) else "function"
