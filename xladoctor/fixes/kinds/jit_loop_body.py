"""Moves the operations of a loop's body into one function under ``@jax.jit``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Position, Refused, Unsuited
from xladoctor.fixes.names import bound_in, fresh, is_of_module, read_from_around, varies
from xladoctor.fixes.pure import Pure
from xladoctor.fixes.source import Loop, Source
from xladoctor.fixes.text import indented


def fix(case: Case) -> Change:
    """For the loop around the finding's line: the assignments that its body begins with."""
    source = case.source
    if case.frontend != "jax":
        raise Unsuited("jax.jit compiles only JAX functions")
    loops = source.loops_around(source.statement(case.line))
    if not loops or not isinstance(loops[0].body, cst.IndentedBlock):
        raise Unsuited(f"line {case.line} is in no loop")
    loop = loops[0]
    statements = _statements(source, loop)
    if not any(source.covers(each, case.line) for each in statements):
        raise Refused("the start of the loop's body does more than compute with arrays")
    taken = source.names_bound(loop.target) if isinstance(loop, cst.For) else set[str]()
    for each in statements:
        small = each.body[0]
        if isinstance(small, cst.AugAssign) and source.code(small.target) in taken:
            raise Refused(f"`{source.code(small)}` may change the batch in place")
    arguments = _arguments(source, loop, statements)
    results = _results(source, loop, statements, arguments)
    for each in statements:
        Pure(source).check_code(each, "the body of the loop", set(arguments))
    jax, imports = source.import_of("jax", loop)
    name = fresh(source, "step")
    for each in statements:
        source.refuse_long_strings(each)
    first, last = source.first_line(statements[0]), source.end(statements[-1])
    begin, end = Position(first, 0), Position(last.line + 1, 0)
    body = textwrap.dedent("".join(source.lines[first - 1 : last.line])).replace("\r\n", "\n")
    lines = (
        f"@{jax}.jit",
        f"def {name}({', '.join(arguments)}):",
        indented(body.rstrip("\n"), "    "),
        f"    return {', '.join(results)}",
    )
    indentation = source.indentation(statements[0])
    call = f"{indentation}{', '.join(results)} = {name}({', '.join(arguments)}){source.newline}"
    return Change(
        "compile what the loop computes as one function",
        (source.insert_function_above(loop, *lines), Edit(begin, end, call), *imports),
        behaviour="fused operations may round differently",
        relies_on=(
            f"{', '.join(arguments)} hold arrays",
            "global arrays that it reads are never changed",
        ),
    )


def _statements(source: Source, loop: Loop) -> list[cst.SimpleStatementLine]:
    """The assignments of variables at the beginning of the body that only compute with arrays."""
    found: list[cst.SimpleStatementLine] = []
    for each in loop.body.body:
        if not isinstance(each, cst.SimpleStatementLine) or len(each.body) != 1:
            break
        if not isinstance(each.body[0], (cst.Assign, cst.AugAssign)):
            break
        try:
            Pure(source).check_code(each, "it", set())
        except Refused:
            break
        found.append(each)
    return found


def _arguments(
    source: Source, loop: Loop, statements: Sequence[cst.SimpleStatementLine]
) -> list[str]:
    """The variables that the statements read before they bind them, and that change."""
    bound, found = set[str](), dict[str, None]()
    for each in statements:
        small = each.body[0]
        assert isinstance(small, (cst.Assign, cst.AugAssign))  # noqa: S101 - see _statements
        for name, uses in read_from_around(source, small.value).items():
            if name == "self":
                raise Refused("it reads attributes of self")
            if name not in bound and _is_argument(source, uses, loop):
                found[name] = None
        if isinstance(small, cst.AugAssign):
            target = source.code(small.target)
            found |= {} if target in bound else {target: None}
        bound |= bound_in(source, each)
    if not found:
        raise Refused("the body of the loop reads nothing that changes")
    return list(found)


def _is_argument(source: Source, uses: Sequence[cst.Name], loop: Loop) -> bool:
    """Whether a variable changes, or may be changed in place: all but what is called, such as an
    optimizer's methods, and what the module has.
    """
    if varies(source, uses[0], loop):
        return True
    called = any(
        isinstance(above, cst.Call) and use in (above.func, getattr(above.func, "value", None))
        for use in uses
        for above in list(source.around(use))[:2]
    )
    return not called and not is_of_module(source, uses[0])


def _results(
    source: Source,
    loop: Loop,
    statements: Sequence[cst.SimpleStatementLine],
    arguments: Sequence[str],
) -> list[str]:
    """The variables that the statements bind, and that the next iteration or other code uses."""
    own = {id(each) for statement in statements for each in source.all(cst.Name, statement)}
    bound = dict.fromkeys(
        name.value
        for statement in statements
        for name in source.all(cst.Name, statement)
        if name.value in bound_in(source, statement)
    )
    bound = dict.fromkeys([*(name for name in arguments if name in bound), *bound])
    found = [
        name
        for name in bound
        if name in arguments
        or any(id(use) not in own for use in source.names_used(source.owner(loop), name))
    ]
    if not found:
        raise Refused("nothing uses what the body of the loop computes")
    return found
