"""Barriers of torch_xla in a program's loops: where one belongs, and whether there is one."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from xladoctor.fixes.calls import COPIES, NUMBERS, Does, of_method
from xladoctor.fixes.effects import what
from xladoctor.fixes.interface import Edit, Refused
from xladoctor.fixes.source import LOOPS, SCOPES, Loop, Source, argument, called

#: Functions that end a step; the latter one with ``barrier=True``.
SYNC = frozenset(("torch_xla.sync", "torch_xla.core.xla_model.mark_step"))
OPTIMIZER_STEP = frozenset(("torch_xla.core.xla_model.optimizer_step",))
#: A context that ends a step, and loaders that do so with each batch.
_CONTEXTS = frozenset(("torch_xla.step", "torch_xla.debug.profiler.StepTrace"))
_LOADERS = frozenset(
    f"torch_xla.distributed.parallel_loader.{name}" for name in ("MpDeviceLoader", "ParallelLoader")
)
_LEAVES = (cst.Continue, cst.Break, cst.Return)
#: What a statement that reads may do with what it has read, other than computing.
_KEEPS = frozenset(("append", "extend", "format"))
#: What draws random numbers, by the last part of its name. A barrier begins another sequence of
#: those that are drawn on the device.
_RANDOM = ("Dropout", "dropout", "rand_like", "randn_like")
_HOST = ("random.", "numpy.")


def barrier_in(
    source: Source,
    loop: Loop,
    shown: Collection[int] = (),
    but: cst.Call | None = None,
) -> list[Edit]:
    """The edits that end each iteration of a loop with a barrier.

    Args:
        shown: lines of reads that belong below the barrier.
        but: a barrier of the loop that is taken out.

    Raises:
        Refused: some iterations would not come to it, or it has one.
    """
    taken_out: list[Edit] = []
    if but is None and (found := _in_some_turns(source, loop)):
        but, only_some = found
        taken_out = [source.delete(only_some)]
    if has_barrier(source, loop, but):
        raise Refused("the loop already has a barrier", "see that each iteration comes to it")
    if has_device_loader(source, loop):
        raise Refused("the loop's loader already ends each step with a barrier")
    rest = _below(source, loop, shown)
    body = loop.body.body
    for number, statement in enumerate(body[: len(body) - len(rest)]):
        leaves = _leaves(source, statement, loop)
        if leaves and (number or not _skips(statement)):
            kind = type(leaves[0]).__name__.lower()
            raise Refused(
                f"the loop has a `{kind}` in line {source.begin(leaves[0]).line}, which would"
                " skip a barrier at its end",
                "add torch_xla.sync() in front of it too, if that iteration computes something",
            )
    if not rest and _is_raise(body[-1]):
        raise Refused(f"the body of the loop ends with `{source.code(body[-1]).strip()}`")
    if len(rest) == len(body):
        raise Refused(f"the loop in line {source.begin(loop).line} only reads or leaves")
    name, imported = source.import_of("torch_xla", loop)
    call = f"{name}.sync()"
    placed = source.insert_before(rest[0], call) if rest else source.append_to(loop.body, call)
    return [*taken_out, placed, *imported]


def _in_some_turns(
    source: Source, loop: Loop
) -> tuple[cst.Call, cst.SimpleStatementLine | cst.If] | None:
    """A barrier that is the last statement of an ``if`` in a loop's body, and what to take out."""
    for each in loop.body.body:
        if not isinstance(each, cst.If) or each.orelse or not each.body.body:
            continue
        last = each.body.body[-1]
        if not isinstance(last, cst.SimpleStatementLine) or len(last.body) != 1:
            continue
        call = source.only_call(last)
        if call is not None and source.qualified(call.func) & SYNC:
            alone = len(each.body.body) == 1 and not any(
                source.all((cst.Call, cst.NamedExpr), each.test)
            )
            return call, each if alone else last
    return None


def barrier_in_function(source: Source, line: int) -> list[Edit]:
    """The edits that end a function that begins in a line with a barrier, before it returns.

    Raises:
        Refused: it may return elsewhere, or has a barrier.
    """
    found = [
        each
        for each in source.all(cst.FunctionDef)
        if line in [source.begin(part).line for part in (each, *each.decorators)]
    ]
    if not found or not isinstance(found[-1].body, cst.IndentedBlock):
        raise Refused(f"no function with separate lines starts in line {line}")
    body = found[-1].body
    if any(is_barrier(source, call) for call in source.all(cst.Call, body)):
        raise Refused("the function already has a barrier", "see that each call comes to it")
    last = body.body[-1]
    returns = list(source.all((cst.Return, cst.Yield), body))
    at_end = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[0], cst.Return)
    if len(returns) > at_end:
        raise Refused("the function returns in several places", "add torch_xla.sync() before each")
    if at_end and any(source.all(cst.Call, last)):
        raise Refused("the function computes what it returns", "add torch_xla.sync() after that")
    name, imported = source.import_of("torch_xla", last)
    call = f"{name}.sync()"
    placed = source.insert_before(last, call) if at_end else source.append_to(body, call)
    return [placed, *imported]


def _draws(source: Source, call: cst.Call) -> bool:
    """Whether a call draws random numbers, perhaps on the device."""
    if not isinstance(call.func, cst.Attribute):
        return False
    name = call.func.attr.value
    if of_method(name) is Does.draws:  # on the host, if it is of a module for that
        return not any(each.startswith(_HOST) for each in source.qualified(call.func))
    return name.startswith("rand") and argument(call, "device") is not None


def random_numbers(source: Source) -> str:
    """How a program that has random numbers drawn on the device behaves with another barrier; empty
    if nothing in the file shows that it does.
    """
    drawn = any(each.value.endswith(_RANDOM) for each in source.all(cst.Name)) or any(
        _draws(source, call) for call in source.all(cst.Call)
    )
    return "dropout and sampling draw different random numbers on the device" if drawn else ""


def is_barrier(source: Source, call: cst.Call) -> bool:
    """Whether a call ends a step."""
    names = source.qualified(call.func)
    if names & (SYNC | _CONTEXTS):
        return True
    given = argument(call, "barrier", 1)
    return bool(names & OPTIMIZER_STEP) and given is not None and source.code(given) != "False"


def has_barrier(source: Source, loop: Loop, but: cst.Call | None = None) -> bool:
    """Whether a loop's body ends a step somewhere, by another call than ``but``."""
    calls = source.all(cst.Call, loop.body)
    return any(call is not but and is_barrier(source, call) for call in calls)


def has_device_loader(source: Source, loop: Loop) -> bool:
    """Whether a loop is over a loader of torch_xla, enumerated or not."""
    if not isinstance(loop, cst.For):
        return False
    names = {name.value for name in source.all(cst.Name, loop.iter)}
    made = [each for name in names for each in source.assigned(name)]
    return any(source.calls_of(_LOADERS, each) for each in (loop.iter, *made))


def _below(source: Source, loop: Loop, shown: Collection[int]) -> list[cst.CSTNode]:
    """The statements at the end of a loop's body that belong below its barrier: they read, yield,
    or decide whether the loop goes on.
    """
    rest: list[cst.CSTNode] = []
    for statement in reversed(loop.body.body):
        reads = _reads(source, statement) or any(source.covers(statement, line) for line in shown)
        ends = isinstance(statement, cst.If) and bool(_leaves(source, statement, loop))
        if not (reads or _is_yield(statement) or ends):
            break
        rest.insert(0, statement)
    return rest


def _reads(source: Source, statement: cst.CSTNode) -> bool:
    """Whether a statement reads values and shows or keeps them, and computes nothing."""
    reads = False
    for call in source.all(cst.Call, statement):
        does, last = what(source, call), called(call)
        is_plain = does in (Does.reads, Does.shows) or last in COPIES - {"detach"}
        reads |= is_plain or bool(source.qualified(call.func) & (NUMBERS | {"builtins.bool"}))
        is_plain |= last in COPIES | _KEEPS
        if not is_plain and not (does is Does.computes and isinstance(call.func, cst.Name)):
            return False
    return reads


def _skips(statement: cst.CSTNode) -> bool:
    """Whether a statement does nothing but end some iterations."""
    return (
        isinstance(statement, cst.If)
        and len(statement.body.body) == 1
        and isinstance(only := statement.body.body[0], (cst.SimpleStatementLine, *_LEAVES))
        and (isinstance(only, _LEAVES) or isinstance(only.body[0], _LEAVES))
    )


def _is_raise(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and isinstance(
        statement.body[-1], cst.Raise
    )


def _is_yield(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and any(
        isinstance(part, cst.Expr) and isinstance(part.value, cst.Yield) for part in statement.body
    )


def _leaves(source: Source, statement: cst.CSTNode, loop: Loop) -> list[cst.CSTNode]:
    """What in a statement of a loop's body ends the iteration."""
    found: list[cst.CSTNode] = []
    for each in source.all(_LEAVES, statement):
        inside = [above for above in source.around(each) if isinstance(above, (*LOOPS, *SCOPES))]
        within = inside[: inside.index(loop)] if loop in inside else inside
        if any(isinstance(above, SCOPES) for above in within):
            continue  # of a function that the loop makes
        if not within or isinstance(each, cst.Return):
            found.append(each)
    return found
