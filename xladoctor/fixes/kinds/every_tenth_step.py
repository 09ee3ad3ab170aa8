"""What shows or checks a value in each step does so in every tenth step."""

from __future__ import annotations

import textwrap

import libcst as cst

from xladoctor.fixes.case import Case
from xladoctor.fixes.counter import occasionally
from xladoctor.fixes.interface import Change, Edit, Position, Refused
from xladoctor.fixes.reads import called
from xladoctor.fixes.source import Source
from xladoctor.fixes.step_end import due_barrier

_PRINTS = {"builtins.print", "torch_xla.core.xla_model.master_print"}
_SHOWS = {*_PRINTS, "tqdm.tqdm.write", "tqdm.auto.tqdm.write", "wandb.log"}
#: Methods of loggers, progress bars and trackers.
_LOGS = {
    *("debug", "info", "warning", "error", "set_postfix", "set_postfix_str", "set_description"),
    *("add_scalar", "add_scalars", "log_metric", "log_metrics"),
}
#: Calls in arguments that change nothing.
_PURE = {
    *("item", "float", "int", "str", "repr", "format", "round", "len", "min", "max", "abs", "sum"),
    *("detach", "cpu", "numpy", "tolist", "mean", "norm", "all", "any", "exp", "sqrt", "argmax"),
    *("isfinite", "isnan", "get_last_lr", "device_get", "asarray", "array", "size", "dict", "to"),
    *("time", "perf_counter", "join", "get", "items", "keys", "values", "squeeze", "reshape"),
}


def fix(case: Case) -> Change:
    """For the statement that the finding names."""
    source = case.source
    statement = source.statement(case.line)
    verb = _verb(source, statement)
    _refuse_effects(source, statement)
    condition, loop, counted = occasionally(source, statement)
    return Change(
        f"{verb} only if `{condition}`",
        (*_moved(case, statement, condition), *counted),
        behaviour=f"it {verb}s only if `{condition}`, not in each iteration of the loop in line"
        f" {loop}",
    )


def _verb(source: Source, statement: cst.SimpleStatementLine) -> str:
    match statement.body[0]:
        case cst.Assert():
            return "check"
        case cst.Expr(value=cst.Call(func=func)) if source.qualified(func) & _SHOWS:
            return "print" if source.qualified(func) & _PRINTS else "log"
        case cst.Expr(value=cst.Call(func=cst.Attribute(attr=cst.Name(name)))) if name in _LOGS:
            return "show" if name.startswith("set_") else "log"
    raise Refused("it is not a call of print(), of a logger or of a progress bar that stands alone")


def _refuse_effects(source: Source, statement: cst.SimpleStatementLine) -> None:
    """Refuse a statement that does more than show."""
    if any(source.all((cst.NamedExpr, cst.Await, cst.Yield), statement)):
        raise Refused("it does more than show a value")
    small = statement.body[0]
    outer = small.value if isinstance(small, cst.Expr) else None
    for call in source.all(cst.Call, statement):
        if call is not outer and called(call) not in _PURE:
            raise Refused(f"`{source.code(call)}` in it may do more than compute a value")


def _moved(case: Case, statement: cst.SimpleStatementLine, condition: str) -> tuple[Edit, ...]:
    """The statement behind a condition, and below the barrier if that is possible."""
    source = case.source
    first, after = _lines(source, statement)
    if any(
        "\n" in source.code(each)
        for each in source.all((cst.SimpleString, cst.FormattedString), statement)
    ):
        raise Refused("it has a string of several lines")
    begin, end = Position(first, 0), Position(after, 0)
    body = textwrap.indent(
        "".join(source.lines[first - 1 : after - 1]), source.module.default_indent
    )
    text = f"{source.indentation(statement)}if {condition}:{source.newline}{body}"
    due = due_barrier(case, statement)
    if due:
        return _below_due_barrier(case, statement, text, due)
    barrier = _barrier_below(case, statement)
    if barrier is None:
        return (Edit(begin, end, text),)
    below = Position(source.end(barrier).line + 1, 0)
    return Edit(begin, end, ""), Edit(below, below, text)


def _below_due_barrier(
    case: Case, statement: cst.SimpleStatementLine, text: str, due: tuple[Edit, ...]
) -> tuple[Edit, ...]:
    """The statement below a barrier that the loop is given, too."""
    source = case.source
    block = source.parent(statement)
    if (
        not isinstance(block, cst.IndentedBlock)
        or block is not source.loops_around(statement)[0].body
    ):
        raise Refused("the loop has no barrier, and the statement is in a block of its own")
    if block.body[-1] is not statement:
        raise Refused("the loop has no barrier, and the statement is not its last")
    begin, after = (Position(line, 0) for line in _lines(source, statement))
    return Edit(begin, after, ""), *due, Edit(after, after, text)


def _barrier_below(
    case: Case, statement: cst.SimpleStatementLine
) -> cst.SimpleStatementLine | None:
    """The barrier below which the statement shows the same; None if there is none."""
    source, line = case.source, case.barriers.get("barrier")
    if not line or case.barriers.get("below_barrier"):
        return None
    block = source.parent(statement)
    body = list(block.body) if isinstance(block, cst.IndentedBlock) else []
    rest = body[body.index(statement) + 1 :] if statement in body else []
    for number, each in enumerate(rest):
        if source.begin(each).line == line and isinstance(each, cst.SimpleStatementLine):
            is_same = _is_indifferent(source, statement, rest[:number])
            return each if is_same else None
    return None


def _is_indifferent(
    source: Source, statement: cst.SimpleStatementLine, between: list[cst.BaseStatement]
) -> bool:
    """Whether a statement shows the same below others."""
    if not between:
        return True
    own = source.names_bound(source.loops_around(statement)[0])
    shown = {
        name.value
        for arg in source.all(cst.Arg, statement.body[0])
        for name in source.variables(arg)
        if name.value not in _PURE
    }
    others = {
        name.value
        for each in between
        for name in source.variables(each)
        if not _is_backward(source, name)
    }
    return shown <= own - others


def _is_backward(source: Source, name: cst.Name) -> bool:
    match source.parent(name):
        case cst.Attribute(attr=cst.Name("backward")):
            return True
    return False


def _lines(source: Source, statement: cst.SimpleStatementLine) -> tuple[int, int]:
    """The first line of a statement, and the one after its last."""
    return source.begin(statement).line, source.end(statement).line + 1
