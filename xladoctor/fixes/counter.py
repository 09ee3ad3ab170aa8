"""The number of a loop's iteration, for what is to happen in some iterations only."""

from __future__ import annotations

import libcst as cst

from xladoctor.fixes.carried import is_occasional
from xladoctor.fixes.interface import Edit, Refused
from xladoctor.fixes.source import Loop, Source

EACH = 10  # iterations
_SELDOM = 5  # iterations between the program's own output
_NAMES = ("step", "number", "iteration", "index")
#: Methods whose results are not the batches of a loop.
_PARTS = {"items", "keys", "values", "parameters", "named_parameters", "children", "modules"}


def occasionally(
    source: Source, statement: cst.SimpleStatementLine
) -> tuple[str, int, tuple[Edit, ...]]:
    """A condition that holds in some iterations of the innermost loop around a statement.

    Returns:
        The condition, the line of the loop, and the edits of the loop's head that it needs.

    Raises:
        Refused: the loop's iterations are not those of the program's steps, or cannot be counted.
    """
    loops = source.loops_around(statement)
    if not loops:
        raise Refused(f"no loop of this function is around line {source.begin(statement).line}")
    loop = loops[0]
    line = source.begin(loop).line
    if is_occasional(source, loop, statement):
        raise Refused("an `if` already limits it to some iterations")
    if len(loops) > 1 and len(loop.body.body) == 1:
        raise Refused(f"the loop in line {line} only iterates over parts of a step")
    counter = _counter(source, loop)
    if counter:
        return _existing(source, loop, counter) or f"{counter} % {EACH} == 0", line, ()
    counter, edits = _counted(source, loop, len(loops))
    return f"{counter} % {EACH} == 0", line, edits


def _existing(source: Source, loop: Loop, counter: str) -> str:
    """The condition by which the loop does other things occasionally, if it has one."""
    for each in loop.body.body:
        match each:
            case cst.If(
                test=cst.Comparison(
                    left=cst.BinaryOperation(
                        left=cst.Name(name), operator=cst.Modulo(), right=interval
                    ),
                    comparisons=[cst.ComparisonTarget(operator=cst.Equal())],
                ) as test
            ) if name == counter and not _is_set(source, loop, test, but=name):
                if not isinstance(interval, cst.Integer) or interval.evaluated_value >= _SELDOM:
                    return source.code(test)
    return ""


def _counter(source: Source, loop: Loop) -> str:
    """A variable that is another whole number in each iteration; empty if there is none."""
    match loop:
        case cst.For(target=cst.Name(name), iter=cst.Call(func=func, args=args)) if (
            source.qualified(func) == {"builtins.range"} and len(args) <= 2
        ):
            pass
        case cst.For(
            target=cst.Tuple(elements=[cst.Element(value=cst.Name(name)), _]),
            iter=cst.Call(func=func),
        ) if source.qualified(func) == {"builtins.enumerate"}:
            pass
        case _:
            name = ""
    if name and name not in source.names_bound(loop.body):
        return name
    for line in loop.body.body:
        match line:
            case cst.SimpleStatementLine(
                body=[
                    cst.AugAssign(
                        target=cst.Name(name) as counted,
                        operator=cst.AddAssign(),
                        value=cst.Integer("1"),
                    )
                ]
            ) if _is_only_counted(source, loop, counted):
                return name
    return ""


def _is_set(source: Source, loop: Loop, test: cst.CSTNode, but: str) -> bool:
    """Whether a test calls something, or depends on more than a counter that the loop sets."""
    names = {each.value for each in source.variables(test)} - {but}
    return bool(names & source.names_bound(loop.body)) or any(source.all(cst.Call, test))


def _is_only_counted(source: Source, loop: Loop, name: cst.Name) -> bool:
    """Whether a loop sets a number in no other way than by adding to it."""
    places = [each for each in source.names_used(loop, name.value) if source.is_bound_at(each)]
    above = [each for each in source.values_of(name) if each is not None]
    is_number = all(isinstance(each, (cst.Integer, cst.UnaryOperation)) for each in above)
    return places == [name] and is_number and len(above) == len(source.bindings(name)) - 1


def _counted(source: Source, loop: Loop, depth: int) -> tuple[str, tuple[Edit, ...]]:
    """A counter for a loop that has none, and the edits of its head.

    Args:
        depth: another one for each depth, as loops in loops may be given counters, too.
    """
    line = source.begin(loop).line
    if not isinstance(loop, cst.For) or loop.asynchronous:
        raise Refused(f"the loop in line {line} has no counter for every tenth iteration")
    match loop.iter:
        case cst.Call(func=cst.Attribute(attr=cst.Name(name))) if name in _PARTS:
            raise Refused(f"the loop in line {line} iterates over parts of a step")
        case cst.List() | cst.Tuple():
            raise Refused(f"the loop in line {line} iterates over parts of a step")
    taken = {name.value for name in source.all(cst.Name)}
    free = [name for name in _NAMES if name not in taken]
    if not free or "enumerate" in source.names_bound(source.module):
        raise Refused(f"the names for a counter of the loop in line {line} are taken")
    counter = free[(depth - 1) % len(free)]
    target = source.module.code_for_node(loop.target)
    if isinstance(loop.target, cst.Tuple) and not loop.target.lpar:
        target = f"({target})"
    return counter, (
        source.replace(loop.target, f"{counter}, {target}"),
        source.replace(loop.iter, f"enumerate({source.module.code_for_node(loop.iter)})"),
    )
