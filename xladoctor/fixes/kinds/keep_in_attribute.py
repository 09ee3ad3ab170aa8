"""Keeps values that a callback collects on the device until training ends."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.names import refuse_by_text
from xladoctor.fixes.reads import Read, the_read
from xladoctor.fixes.source import Source

_ENDS = {"on_train_end", "on_fit_end", "on_test_end", "on_validation_end", "on_evaluate_end"}


def fix(case: Case) -> Change:
    """For ``self.losses.append(loss.item())`` in a method of a callback."""
    source = case.source
    if case.frontend not in ("torch_xla", "jax"):
        raise Refused(f"callbacks of {case.frontend} programs are not rewritten")
    statement = source.statement(case.line)
    read = the_read(source, statement)
    name = _list_of(statement, read)
    if read.number == "int":
        raise Refused("int() truncates each value")
    method = source.function_around(statement)
    owner = _class_of(source, method)
    end = _end(source, owner, name, method)
    _refuse_other_uses(source, owner, name, [method, end])
    refuse_by_text(source, name)
    kept, values, imported = read.kept, f"self.{name}", tuple[Edit, ...]()
    if case.frontend == "jax":
        if "donate" in source.text:
            raise Refused("the file donates arrays, which the next step then overwrites")
        module, imported = source.import_of("jax", end)
        kept, values = read.on_device, f"{module}.device_get({values})"
    is_float = case.frontend == "jax" or read.number == "float"
    number = "float(v)" if is_float else "v.item()"
    if not is_float:  # also if training ends twice, when some are read already
        number = f"v if isinstance(v, (int, float)) else {number}"
    first = _first(end)
    return Change(
        f"keep `self.{name}` on the device, and read it in {end.name.value}()",
        (
            source.replace(read.call, kept),
            source.insert_before(first, f"self.{name} = [{number} for v in {values}]"),
            *imported,
        ),
        behaviour=f"`self.{name}` holds tensors, in the device's memory, until {end.name.value}()",
        relies_on=(
            "the values are floating-point numbers",
            f"nothing outside of this file uses `{name}` before {end.name.value}()",
        ),
    )


def _list_of(statement: cst.SimpleStatementLine, read: Read) -> str:
    """The attribute whose list a statement appends a read value to."""
    match statement.body[0]:
        case cst.Expr(
            value=cst.Call(
                func=cst.Attribute(
                    value=cst.Attribute(value=cst.Name("self"), attr=cst.Name(name)),
                    attr=cst.Name("append"),
                ),
                args=[cst.Arg(value=value, star="")],
            )
        ) if value is read.call:
            return name
    raise Refused("it is not of the form `self.losses.append(loss.item())`")


def _class_of(source: Source, method: cst.FunctionDef | None) -> cst.ClassDef:
    block = source.parent(method) if method is not None else None
    owner = source.parent(block) if block is not None else None
    if not isinstance(owner, cst.ClassDef):
        raise Refused("it is not in a method of a class")
    return owner


def _methods(owner: cst.ClassDef) -> list[cst.FunctionDef]:
    return [each for each in owner.body.body if isinstance(each, cst.FunctionDef)]


def _end(
    source: Source, owner: cst.ClassDef, name: str, method: cst.FunctionDef | None
) -> cst.FunctionDef:
    """The only other method that uses the list, which is called when training is over."""
    users = [
        each
        for each in _methods(owner)
        if each is not method and each.name.value != "__init__" and _mentions(source, each, name)
    ]
    if len(users) != 1 or users[0].name.value not in _ENDS or users[0].decorators:
        names = ", ".join(f"{each.name.value}()" for each in users) or "no other method"
        raise Refused(f"{names} uses `self.{name}`, and not just one that is called at the end")
    return users[0]


def _mentions(source: Source, below: cst.CSTNode, name: str) -> list[cst.Attribute]:
    return [each for each in source.all(cst.Attribute, below) if each.attr.value == name]


def _refuse_other_uses(
    source: Source, owner: cst.ClassDef, name: str, users: list[cst.FunctionDef | None]
) -> None:
    """Refuse a list that is more than one of this class's own, set to be empty by __init__."""
    expected = [each for user in users if user for each in _mentions(source, user, name)]
    if len(_mentions(source, users[0] or owner, name)) > 1:
        raise Refused(f"`self.{name}` is used elsewhere in the method")
    begin = next((each for each in _methods(owner) if each.name.value == "__init__"), None)
    for line in source.all(cst.SimpleStatementLine, begin) if begin else ():
        match line.body:
            case [
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(target)))],
                    value=cst.List(elements=[]),
                )
            ] if target == name:
                expected += _mentions(source, line, name)
                break
    else:
        raise Refused(f"`self.{name}` does not start as an empty list in __init__()")
    for each in _mentions(source, source.module, name):
        if each not in expected:
            raise Refused(f"`{name}` is used in line {source.begin(each).line}, too")


def _first(method: cst.FunctionDef) -> cst.BaseStatement:
    """The first statement of a method, other than its docstring."""
    if not isinstance(method.body, cst.IndentedBlock):
        raise Refused(f"{method.name.value}() is on one line")
    body = [*method.body.body]
    match body[0]:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString())]) if len(body) > 1:
            return body[1]
    return body[0]
