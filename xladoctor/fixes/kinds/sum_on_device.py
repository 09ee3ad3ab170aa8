"""Keeps a sum of values on the device, and reads it once, below the loop."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from xladoctor.fixes.carried import Carried, carried, is_occasional, targets_in, value_for
from xladoctor.fixes.case import Case
from xladoctor.fixes.interface import Change, Edit, Refused
from xladoctor.fixes.kinds.every_tenth_step import barrier_below, seldom
from xladoctor.fixes.reads import Read, the_read
from xladoctor.fixes.source import Source
from xladoctor.fixes.step_end import above_barrier, refuse_barrier_elsewhere
from xladoctor.fixes.values import is_reached

_DEVICES = frozenset(("torch_xla.device", "torch_xla.core.xla_model.xla_device"))
_MODEL = "torch_xla.core.xla_model"
_ROUNDING = "the sum is rounded on the device, in float32, rather than in Python, in float64"


@dataclass(frozen=True, slots=True)
class _Sum:
    case: Case
    read: Read
    variable: Carried
    is_whole: bool

    @property
    def source(self) -> Source:
        return self.case.source


def fix(case: Case) -> Change:
    """For the statement ``total += loss.item()`` that the finding names."""
    if case.frontend not in ("torch_xla", "jax"):
        raise Refused(f"sums of {case.frontend} programs are not rewritten")
    source = case.source
    statement = source.statement(case.line)
    target, added = _addition(statement)
    read = the_read(source, statement)
    _refuse_factors(source, read, added)
    variable = carried(source, statement, target)
    if any(name.value == target for name in source.all(cst.Name, added)):
        raise Refused(f"what is added to `{target}` is computed from it")
    whole = _Sum(case, read, variable, _is_whole(read, variable, added))
    if case.frontend == "torch_xla":
        refuse_barrier_elsewhere(case)
    start, imported = _zero(whole)
    kept = read.scalar if case.frontend == "torch_xla" else read.on_device
    text = source.code_with(statement.body[0], read.call, kept)
    number = read.read_later(target) if case.frontend == "jax" else f"{target}.item()"
    if number.startswith("int(") and not whole.is_whole:  # a float in Python, too
        number = f"float({target})"
    inside, shown = _reads_inside(whole, start, number)
    behaviours = (_behaviour(whole), *(each.behaviour for each in shown))
    read_at = "where it is shown" if shown else "once"
    return Change(
        f"sum `{target}` on the device, and read it {read_at}",
        (
            source.replace(variable.start, start),
            *above_barrier(case, statement, text, own=(target,)),
            *inside,
            *(edit for each in shown for edit in each.edits),
            *variable.read_after(number),
            *imported,
        ),
        behaviour="; ".join(dict.fromkeys(filter(None, behaviours))),
    )


def _behaviour(whole: _Sum) -> str:
    if whole.is_whole:
        return ""
    variable = whole.variable
    if isinstance(variable.start, cst.Float) or is_reached(
        whole.source, variable.statement, variable.loop
    ):
        return _ROUNDING
    return f"{_ROUNDING}; without an iteration, `{variable.name}` is 0.0 rather than 0"


def _addition(statement: cst.SimpleStatementLine) -> tuple[str, cst.BaseExpression]:
    """The variable that a statement adds to, and what it adds."""
    match statement.body[0]:
        case cst.AugAssign(target=cst.Name(name), operator=cst.AddAssign(), value=added):
            return name, added
    raise Refused("it is not of the form `total += loss.item()`")


def _refuse_factors(source: Source, read: Read, added: cst.BaseExpression) -> None:
    """Refuse a term in which the value is more than multiplied by the size of a batch."""
    node = added
    while node is not read.call:
        match node:
            case cst.BinaryOperation(
                left=node, operator=cst.Multiply() | cst.Divide(), right=factor
            ) if read.call in [*source.all(cst.Call, node)]:
                pass
            case cst.BinaryOperation(left=factor, operator=cst.Multiply(), right=node):
                pass
            case _:
                raise Refused(f"`{source.code(added)}` does more than read the value")
        if not _is_size(source, factor):
            raise Refused(f"`{source.code(factor)}` may be a different number in each step")


def _is_size(source: Source, factor: cst.BaseExpression) -> bool:
    """Whether a factor is a literal or the size of something."""
    match factor:
        case cst.BaseNumber():
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name("size")), args=[cst.Arg()]):
            return True
        case cst.Subscript(value=cst.Attribute(attr=cst.Name("shape"))):
            return True
        case cst.Call(func=cst.Name("len"), args=[cst.Arg()]):
            return source.qualified(factor.func) == {"builtins.len"}
    return False


def _is_whole(read: Read, variable: Carried, added: cst.BaseExpression) -> bool:
    """Whether the sum is a whole number in Python.

    Raises:
        Refused: that is not known.
    """
    plain = added is read.call
    match variable.start:
        case cst.Float() if float(variable.start.value) == 0:
            is_zero_float = True
        case cst.Integer(value="0"):
            is_zero_float = False
        case _:
            raise Refused(f"`{variable.name}` does not start as 0")
    if read.number == "int" and not read.is_count:
        raise Refused("int() truncates each value")
    if is_zero_float or read.number == "float":
        return False
    if read.is_count and plain:
        return True
    if read.is_float:
        return False
    raise Refused(f"`{variable.name}` starts as 0, and may be an integer")


def _zero(whole: _Sum) -> tuple[str, tuple[Edit, ...]]:
    """The text of a zero on the device, and the imports that it needs."""
    source = whole.source
    if whole.case.frontend == "jax":
        name, imported = source.import_of("jax.numpy", whole.variable.statement)
        return f"{name}.zeros((){', dtype=int' if whole.is_whole else ''})", imported
    torch, imported = source.import_of("torch", whole.variable.statement)
    kind = f", dtype={torch}.long" if whole.is_whole else ""
    device, more = _device(whole)
    return f"{torch}.zeros(1{kind}).to({device})", (*imported, *more)


def _device(whole: _Sum) -> tuple[str, tuple[Edit, ...]]:
    """How the program names its device where the sum begins."""
    source, loop, start = whole.source, whole.variable.loop, whole.variable.start
    for call in source.all(cst.Call, loop):
        match call:
            case cst.Call(
                func=cst.Attribute(attr=cst.Name("to")), args=[cst.Arg(value=cst.Name() as name)]
            ) if _is_device(source, name, start):
                return name.value, ()
    for line in (*source.body_around(loop), *source.module.body):
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)])]
            ) if _is_same(source, name, start) and _is_device(source, name, start):
                return name.value, ()
    module, imported = source.import_of(_MODEL, loop)
    if not imported:
        return f"{module}.xla_device()", ()
    module, imported = source.import_of("torch_xla", loop)
    return f"{module}.device()", imported


def _is_device(source: Source, name: cst.Name, start: cst.CSTNode) -> bool:
    """Whether a variable that is set above a place certainly holds the device there: it is set to
    it, or an argument to which something is moved in each call.
    """
    bound = source.bindings(name)
    if len(bound) != 1 or source.begin(bound[0]) > source.begin(start):
        return False
    value = source.value_of(name)
    if isinstance(value, cst.Call):
        return bool(source.qualified(value.func)) and source.qualified(value.func) <= _DEVICES
    return isinstance(bound[0], cst.Param) and "dev" in name.value  # and not a type


def _is_same(source: Source, name: cst.Name, at: cst.CSTNode) -> bool:
    """Whether a variable of the module is seen under its name at another place."""
    here, there = source.scope(at), source.scope(name)
    return here is not None and there is not None and here[name.value] == there[name.value]


def _reads_inside(whole: _Sum, start: str, number: str) -> tuple[list[Edit], list[Change]]:
    """Reads where the loop shows the sum every so many iterations, and then begins anew; and what
    makes statements that show it in each iteration do so in some.
    """
    source, variable = whole.source, whole.variable
    edits, shown = list[Edit](), dict[cst.SimpleStatementLine | None, list[cst.Name]]()
    for use in variable.inside:
        above = source.parent(use)
        line = source.begin(use).line
        if isinstance(above, (cst.AugAssign, cst.Del, cst.FormattedStringExpression)) and (
            getattr(above, "equal", True)
        ):
            raise Refused(f"`{variable.name}` is used in the loop in line {line}, too")
        if not _is_occasional(whole, use):
            shown.setdefault(_statement(source, use), []).append(use)
        elif isinstance(above, (cst.AssignTarget, cst.Element)) and use in targets_in(
            source, source.statement(line), variable.name
        ):
            edits.append(source.replace(_reset(source, line, variable.name), start))
        else:
            edits.append(source.replace(use, number))
    return edits, [_shown(whole, each, uses, number) for each, uses in shown.items()]


def _statement(source: Source, use: cst.Name) -> cst.SimpleStatementLine | None:
    """The simple statement that a name stands in, if it is alone on its line."""
    for above in source.around(use):
        if isinstance(above, cst.SimpleStatementLine):
            return above if len(above.body) == 1 else None
    return None


def _shown(
    whole: _Sum, statement: cst.SimpleStatementLine | None, uses: list[cst.Name], number: str
) -> Change:
    """A statement that shows the sum below the barrier, and not in each iteration any more."""
    source = whole.source
    if statement is not None and _is_below(whole, statement):
        try:
            return seldom(whole.case, statement, [source.replace(use, number) for use in uses])
        except Refused:
            pass  # the sum's own reason says what to do
    whole.variable.refuse_uses_inside(*uses)
    raise AssertionError


def _is_below(whole: _Sum, statement: cst.SimpleStatementLine) -> bool:
    """Whether a statement of the same loop is, or can be, below the step's barrier."""
    case, source, barrier = whole.case, whole.source, whole.case.barriers.get("barrier")
    loops = source.loops_around(statement)
    if not loops or loops[0] not in source.loops_around(whole.variable.statement):
        return False
    if loops[0].body not in source.around(statement):  # but behind its `else`
        return False
    return (
        case.frontend != "torch_xla"
        or bool(case.barriers.get("unbarred"))
        or bool(barrier and source.begin(statement).line > barrier)
        or barrier_below(case, statement) is not None
    )


def _reset(source: Source, line: int, name: str) -> cst.BaseExpression:
    """The zero to which a statement sets a sum again."""
    match source.statement(line).body[0]:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
            zero = value_for(target, value, name)
            if isinstance(zero, (cst.Integer, cst.Float)) and float(zero.value) == 0:
                return zero
    raise Refused(f"`{name}` is set in the loop in line {line}")


def _is_occasional(whole: _Sum, use: cst.Name) -> bool:
    """Whether a use is below the step's barrier and in an ``if step % n``."""
    source = whole.source
    barrier = whole.case.barriers.get("barrier")
    if whole.case.frontend == "torch_xla" and not (barrier and source.begin(use).line > barrier):
        return False
    return is_occasional(source, whole.variable.loop, use)
