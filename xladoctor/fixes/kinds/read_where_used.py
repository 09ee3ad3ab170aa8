"""A value that is read in each step, and used in some steps only, is read in those."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.carried import is_occasional, refuse_shared
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.reads import Read, the_read
from xladoctor.fixes.source import Source


def fix(case: Case) -> Change:
    """For ``value = loss.item()`` that only an ``if step % n`` further down uses."""
    source = case.source
    statement = source.statement(case.line)
    match statement.body[0]:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
            pass
        case _:
            raise Refused("it is not of the form `value = loss.item()`")
    read = the_read(source, statement)
    loops = source.loops_around(statement)
    if not loops or source.parent(statement) is not loops[0].body:
        raise Refused(f"line {case.line} is not a statement of a loop itself")
    branch = _branch(source, statement, loops[0], name)
    _refuse_changed(source, statement, branch, read)
    return Change(
        f"read `{name}` only where it is used, in line {source.begin(branch).line}",
        (
            source.delete(statement),
            source.insert_before(branch.body.body[0], source.dedented(statement.body[0])),
        ),
    )


def _branch(
    source: Source, statement: cst.SimpleStatementLine, loop: cst.For | cst.While, name: str
) -> cst.If:
    """The ``if`` that has all uses of a variable in its body."""
    scope: cst.CSTNode = source.function_around(statement) or source.module
    refuse_shared(source, scope, name)
    own = set(source.variables(statement))
    uses = [use for use in source.names_used(scope, name) if use not in own]
    if not uses:
        raise Refused(f"nothing uses `{name}`")
    for each in loop.body.body:
        if isinstance(each, cst.If) and source.begin(statement) < source.begin(each):
            inside = set(source.names_used(each.body, name))
            if inside and isinstance(each.body, cst.IndentedBlock):
                outside = [use for use in uses if use not in inside]
                if outside or not all(is_occasional(source, loop, use) for use in uses):
                    break
                return each
    line = source.begin(uses[0]).line
    raise Refused(
        f"`{name}` is used in line {line}, and not only in an `if` of every so many steps"
    )


def _refuse_changed(
    source: Source, statement: cst.SimpleStatementLine, branch: cst.If, read: Read
) -> None:
    """Refuse a value that is another one by the time it is used."""
    block = source.parent(statement)
    body = list(block.body) if isinstance(block, cst.IndentedBlock) else []
    between = body[body.index(statement) + 1 : body.index(branch)]
    bound = {name for each in between for name in source.names_bound(each)}
    given = {each.value for each in source.variables(statement)}
    if given & bound:
        raise Refused(f"`{min(given & bound)}` changes before `{source.code(branch.test)}`")
    if between and not (
        isinstance(read.tensor, cst.Name)
        and read.tensor.value in source.names_bound(source.loops_around(statement)[0])
    ):
        raise Refused(f"`{source.code(read.tensor)}` may change in between")
