"""A value that is read in each step, and used in some steps only, is read in those."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.carried import is_occasional, refuse_handlers, refuse_reused, refuse_shared
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.reads import Read, the_read
from xladoctor.fixes.source import Source

Loop = cst.For | cst.While


def fix(case: Case) -> Change:
    """For ``value = loss.item()`` that only an ``if step % n`` further down uses, or what follows
    the loop.
    """
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
    if not set(source.names_used(loops[0], name)) - set(source.variables(statement)):
        return _below_loop(case, statement, loops[0], name, read)
    branch = _branch(source, statement, loops[0], name)
    _refuse_changed(source, statement, branch, read)
    return Change(
        f"read `{name}` only where it is used, in line {source.begin(branch).line}",
        (
            source.delete(statement),
            source.insert_before(branch.body.body[0], source.dedented(statement.body[0])),
        ),
    )


def _below_loop(
    case: Case, statement: cst.SimpleStatementLine, loop: Loop, name: str, read: Read
) -> Change:
    """The last iteration's value is read below the loop."""
    source = case.source
    if case.frontend not in ("torch_xla", "jax"):
        raise Refused(f"reads of {case.frontend} programs are not moved below their loop")
    match statement.body[0]:
        case cst.Assign(value=value) if value is read.call:
            pass
        case _:
            raise Refused("it does more than read the value")
    scope: cst.CSTNode = source.function_around(statement) or source.module
    refuse_shared(source, scope, name)
    refuse_handlers(source, loop, name)
    refuse_reused(source, loop, read.tensor)
    others = set(source.names_used(scope, name)) - set(source.variables(statement))
    if any(source.begin(each) < source.begin(loop) for each in others):
        raise Refused(f"`{name}` is used above the loop, too")
    if not others:
        raise Refused(f"nothing uses `{name}`")
    kept = read.detached if case.frontend == "torch_xla" else read.on_device
    return Change(
        f"read `{name}` once, below the loop in line {source.begin(loop).line}",
        (
            source.replace(read.call, kept),
            source.insert_after(loop, f"{name} = {read.read_later(name)}"),
        ),
        relies_on=("the loop has at least one iteration",),
    )


def _branch(source: Source, statement: cst.SimpleStatementLine, loop: Loop, name: str) -> cst.If:
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
