"""Reads a value only in the steps that use it, not in each."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.carried import (
    is_occasional,
    refuse_elsewhere,
    refuse_handlers,
    refuse_reused,
    refuse_shared,
)
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import refuse_effects
from xladoctor.fixes.interface import Change, Refused
from xladoctor.fixes.reads import Read, the_read
from xladoctor.fixes.source import Loop, Source
from xladoctor.fixes.values import is_reached, refuse_unless_movable

_LAZY = ("torch_xla", "jax")


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
    loop = source.loop_of(statement, case.line)
    if not set(source.names_used(loop, name)) - set(source.variables(statement)):
        return _below_loop(case, statement, loop, name, read)
    branch = _branch(source, statement, loop, name)
    refuse_effects(source, statement.body[0].value)
    block = list(loop.body.body)
    between = block[block.index(statement) + 1 : block.index(branch)]
    kept, later = source.delete(statement), source.dedented(statement.body[0])
    try:
        refuse_unless_movable(source, statement, [*between, branch.test], own=(name,))
    except Refused:
        if statement.body[0].value is not read.call or case.frontend not in _LAZY:
            raise
        refuse_reused(source, loop, read.tensor)
        kept = source.replace(read.call, _kept(case, read))
        later = f"{name} = {read.read_later(name)}"
    return Change(
        f"read `{name}` only where it is used, in line {source.begin(branch).line}",
        (kept, source.insert_before(branch.body.body[0], later)),
    )


def _kept(case: Case, read: Read) -> str:
    return read.kept if case.frontend == "torch_xla" else read.on_device


def _below_loop(
    case: Case, statement: cst.SimpleStatementLine, loop: Loop, name: str, read: Read
) -> Change:
    """The last iteration's value is read below the loop."""
    source = case.source
    if case.frontend not in _LAZY:
        raise Refused(f"reads of {case.frontend} programs are not moved below their loop")
    match statement.body[0]:
        case cst.Assign(value=value) if value is read.call:
            pass
        case _:
            raise Refused("it does more than read the value")
    scope = source.owner(statement)
    refuse_shared(source, scope, name)
    refuse_handlers(source, loop, name)
    refuse_reused(source, loop, read.tensor)
    others = set(source.names_used(scope, name)) - set(source.variables(statement))
    if any(source.begin(each) < source.begin(loop) for each in others):
        raise Refused(f"`{name}` is used above the loop, too")
    if not others:
        raise Refused(f"nothing uses `{name}`")
    refuse_elsewhere(source, source.parent(loop), others)
    kept = _kept(case, read)
    first = _first_use(source, statement, loop, min(others, key=source.begin))
    later = f"{name} = {read.read_later(name)}"
    return Change(
        f"read `{name}` once, below the loop in line {source.begin(loop).line}",
        (
            source.replace(read.call, kept),
            source.insert_after(loop, later)
            if first is None
            else source.insert_before(first, later),
        ),
    )


def _first_use(
    source: Source, statement: cst.CSTNode, loop: Loop, use: cst.Name
) -> cst.CSTNode | None:
    """The statement in front of which a variable is read, as it may not be set; None if it is."""
    if is_reached(source, statement, loop):
        return None
    for above in source.around(use):
        if source.parent(above) is source.parent(loop):
            if isinstance(above, cst.SimpleStatementLine):
                return above
            break
    raise Refused(f"the loop in line {source.begin(loop).line} may have no iteration")


def _branch(source: Source, statement: cst.SimpleStatementLine, loop: Loop, name: str) -> cst.If:
    """The ``if`` that has all uses of a variable in its body."""
    scope = source.owner(statement)
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
    raise Refused(f"`{name}` is used in line {line}, and not only in an `if` for some steps")
