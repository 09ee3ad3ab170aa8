"""What values are, as far as the file shows: new objects, numbers, tensors without dimensions; and
who can reach them, so that code may be moved past other code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import libcst as cst

from xladoctor.fixes.calls import HOLDERS, LOSSES, NUMBERS, Does
from xladoctor.fixes.effects import Effects, effects, hooks, shortened, what
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.names import definition_of, root_of
from xladoctor.fixes.source import Loop, Source

_PLAIN = (cst.Integer, cst.Float, cst.SimpleString, cst.FormattedString, cst.Comparison)
_CONTAINERS = (cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp)
_LOSSES = frozenset(f"torch.nn.functional.{name}" for name in LOSSES)
#: What makes another value of a value.
_COMPUTING = (
    *(cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.FormattedStringExpression),
    *(cst.If, cst.IfExp, cst.While, cst.Assert, cst.Expr, cst.Index, cst.AugAssign),
)
_LEAVES = (cst.Break, cst.Continue, cst.Return)
#: Functions by which a loop counts.
COUNTERS = frozenset(("builtins.range", "builtins.enumerate"))


def is_new(source: Source, value: cst.BaseExpression) -> bool:
    """Whether a value is certainly another object than all that the program has a name for."""
    match value:
        case _ if isinstance(value, (*_PLAIN, *_CONTAINERS)) and not hooks(source):
            return True
        case cst.UnaryOperation(operator=cst.Plus()):
            return False
        case cst.BinaryOperation() | cst.UnaryOperation():
            return not hooks(source)
        case cst.Call():
            return _makes_new(source, value)
        case cst.Name():
            return all_of(source, value, is_new)
    return False


def _makes_new(source: Source, call: cst.Call) -> bool:
    does = what(source, call)
    if does is Does.views:
        inner = call.func.value if isinstance(call.func, cst.Attribute) else None
        if inner is None or root_of(inner) in source.imported:
            inner = call.args[0].value if call.args else None
        return inner is not None and is_new(source, inner)
    if does is Does.computes:
        return not source.qualified(call.func) & HOLDERS
    if does is Does.reads or is_loss(source, call):
        return True
    definition = definition_of(source, call)
    last = definition.body.body[-1] if definition is not None else None
    match last:
        case (
            cst.SimpleStatementLine(body=[*_, cst.Return(value=value)]) | cst.Return(value=value)
        ) if value is not None and definition is not None:
            returns = [*source.all((cst.Return, cst.Yield), definition)]
            return len(returns) == 1 and is_new(source, value)
    return False


def all_of(
    source: Source, name: cst.Name, test: Callable[[Source, cst.BaseExpression], bool]
) -> bool:
    """Whether a test holds for all that a variable is assigned, and it is set in no other way."""
    values, visit = source.values_of(name), (test, *source.bindings(name))
    if visit in source.visiting:  # what a variable becomes of itself is as it was
        return bool(values)
    source.visiting.append(visit)
    try:
        return bool(values) and all(
            each is not None and not isinstance(each, cst.Name) and test(source, each)
            for each in values
        )
    finally:
        source.visiting.pop()


def is_loss(source: Source, call: cst.Call) -> bool:
    """Whether a call is one of a loss of torch.nn, which is made once."""
    made = source.value_of(call.func) if isinstance(call.func, cst.Name) else call.func
    if not isinstance(made, cst.Call):
        return False
    names = source.qualified(made.func)
    return bool(names) and all(
        name.startswith("torch.nn.") and name.endswith("Loss") for name in names
    )


def is_scalar(source: Source, value: cst.BaseExpression) -> bool:
    """Whether an expression is certainly a tensor without dimensions."""
    match value:
        case cst.Call(func=cst.Attribute(attr=cst.Name("sum" | "mean" | "max" | "min")), args=[]):
            return what(source, value) is Does.computes
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(name)), args=[]) if name in (
            *("detach", "float", "cpu", "clone", "sqrt", "exp", "log", "abs"),
        ):
            return is_scalar(source, inner)
        case cst.Call():
            return _is_mean_loss(source, value)
        case cst.BinaryOperation(left=left, right=right):
            sides = (left, right)
            return all(
                isinstance(each, cst.BaseNumber) or is_scalar(source, each) for each in sides
            ) and not all(isinstance(each, cst.BaseNumber) for each in sides)
        case cst.Name():
            return not _is_of_itself(source, value) and all_of(source, value, is_scalar)
    return False


def _is_of_itself(source: Source, name: cst.Name) -> bool:
    """Whether a variable is computed from itself, also by way of others."""
    seen, pending = set[str](), [name]
    while pending:
        for value in filter(None, source.values_of(pending.pop())):
            for each in source.variables(value):
                if each.value == name.value:
                    return True
                if each.value not in seen:
                    seen.add(each.value)
                    pending.append(each)
    return False


def _is_mean_loss(source: Source, call: cst.Call) -> bool:
    """Whether a call is one of a loss of torch, with its default reduction."""
    names, made = source.qualified(call.func), call
    if isinstance(call.func, cst.Name) and is_loss(source, call):
        value = source.value_of(call.func)
        made = value if isinstance(value, cst.Call) else call
    elif not names or not names <= _LOSSES:
        return False
    keywords = {arg.keyword.value for arg in made.args if arg.keyword}
    places = [arg for arg in made.args if not arg.keyword]
    plain = len(places) <= (2 if made is call else 1) and not any(arg.star for arg in made.args)
    return plain and not keywords & {"reduction", "reduce", "size_average"}


def is_own(source: Source, at: cst.CSTNode, name: str) -> bool:
    """Whether the object of a variable can only be reached by that name, or cannot be changed: it
    is new each time, or a number, and is neither passed on nor kept elsewhere.
    """
    uses = source.names_used(source.owner(at), name)
    if name in source.imported or not uses or is_counter(source, at, name):
        return True
    if source.qualified(uses[0]) == {f"builtins.{name}"}:
        return True
    return is_plain(source, uses[0]) or is_kept(source, uses[0])


def is_plain(source: Source, name: cst.Name) -> bool:
    """Whether a variable begins as a number, text or container, so that no tensor changes when
    something is added to it.
    """
    bound = [
        each for each in source.bindings(name) if not isinstance(source.parent(each), cst.AugAssign)
    ]
    values = source.values_of(name)
    plain = [each for each in values if isinstance(each, (*_PLAIN, *_CONTAINERS))]
    return bool(bound) and len(plain) == len(bound) and not hooks(source)


def is_counter(source: Source, at: cst.CSTNode, name: str) -> bool:
    """Whether a variable counts the iterations of a loop around."""
    for loop in source.loops_around(at):
        if isinstance(loop, cst.For) and isinstance(loop.iter, cst.Call):
            target: cst.CSTNode = loop.target
            if isinstance(target, cst.Tuple):
                target = target.elements[0].value
            if isinstance(target, cst.Name) and target.value == name:
                return source.qualified(loop.iter.func) <= COUNTERS
    return False


def is_kept(source: Source, value: cst.BaseExpression) -> bool:
    """Whether a value, if kept, stays as it is: it is new, and nothing else can change it."""
    if not isinstance(value, cst.Name):
        return is_new(source, value)
    if any(item.name.value == value.value for item in source.all(cst.NameItem)):
        return False
    uses = source.names_used(source.owner(value), value.value)
    return is_new(source, value) and not any(escapes(source, use) for use in uses)


def escapes(source: Source, use: cst.CSTNode) -> bool:
    """Whether the code around a value passes its object on, keeps it elsewhere or changes it."""
    if isinstance(use, cst.Name) and source.is_bound_at(use):
        return isinstance(source.parent(use), cst.AugAssign)
    inner: cst.CSTNode = use
    for above in source.around(use):
        if isinstance(above, _COMPUTING):
            return isinstance(above, cst.AugAssign) and inner is above.target
        if isinstance(above, cst.Call):
            does = what(source, above)
            if does in (None, Does.changes):
                return True
            if does is not Does.views and not source.qualified(above.func) & HOLDERS:
                return False
        elif not isinstance(above, (cst.Attribute, cst.Arg, cst.Subscript)):
            return True
        inner = above
    return True


def runs(source: Source, loop: Loop) -> bool:
    """Whether a loop certainly has an iteration."""
    if isinstance(loop, cst.While):
        return isinstance(loop.test, cst.Name) and loop.test.value == "True"
    return _has_elements(source, loop.iter)


def is_reached(source: Source, statement: cst.CSTNode, loop: cst.CSTNode) -> bool:
    """Whether a statement in a loop is certainly run, if what is in front of the loop is."""
    inner = statement
    for above in source.around(statement):
        if isinstance(above, cst.IndentedBlock):
            before = (each for each in above.body if source.end(each) < source.begin(inner))
            if any(True for each in before for _ in source.all(_LEAVES, each)):
                return False
        elif not isinstance(above, (cst.For, cst.While)) or not runs(source, above):
            return False
        if above is loop:
            return True
        inner = above
    return False


def _has_elements(source: Source, value: cst.BaseExpression | None) -> bool:
    match value:
        case cst.Name() if not any(
            isinstance(source.parent(use), cst.Attribute)
            for use in source.names_used(source.module, value.value)
        ):
            return _has_elements(source, source.value_of(value))
        case cst.List(elements=elements) | cst.Tuple(elements=elements):
            return any(isinstance(each, cst.Element) for each in elements)
        case cst.ListComp(for_in=cst.CompFor(iter=inner, ifs=[], inner_for_in=None)):
            return _has_elements(source, inner)
        case cst.Call(func=func, args=[cst.Arg(value=first), *others]):
            if source.qualified(func) == {"builtins.range"} and not others:
                return _number(source, first) > 0
            return source.qualified(func) == {"builtins.enumerate"} and _has_elements(source, first)
    return False


def _number(source: Source, value: cst.BaseExpression) -> int:
    """A whole number that is written out, or that a variable holds; else 0."""
    if isinstance(value, cst.Name):
        value = source.value_of(value) or value
    return value.evaluated_value if isinstance(value, cst.Integer) else 0


def ends(source: Source, loop: Loop) -> bool:
    """Whether a loop goes through something that is not known to be endless."""
    if isinstance(loop, cst.While):
        return False
    endless = {f"itertools.{name}" for name in ("count", "cycle", "repeat")} | {"builtins.iter"}
    return not source.calls_of(frozenset(endless), loop.iter)


def is_read_only(source: Source, but: cst.CSTNode, name: str) -> bool:
    """Whether a variable is only read as a number, other than in one statement."""
    if any(item.name.value == name for item in source.all(cst.NameItem)):
        return False  # of `global` or `nonlocal`: other functions see it
    for use in source.names_used(source.owner(but), name):
        if but in source.around(use) or source.is_bound_at(use):
            continue
        above = source.parent(use)
        call = source.parent(above) if isinstance(above, cst.Arg) else None
        names = source.qualified(call.func) if isinstance(call, cst.Call) else set[str]()
        is_item = isinstance(above, cst.Attribute) and above.attr.value == "item"
        if not is_item and (not names or not names <= NUMBERS):
            return False
    return True


def refuse_unless_movable(
    source: Source, moved: cst.CSTNode, past: Sequence[cst.CSTNode], own: Iterable[str] = ()
) -> None:
    """Refuse to run code before or after other code that it stands next to, unless both do the same
    in the other order.

    Args:
        own: variables that nothing but the moved code can reach.
    """
    one, line = effects(source, moved), source.begin(moved).line
    for each in past:
        other, at = effects(source, each), source.begin(each).line
        if other.leaves is not None:
            raise Refused(f"line {at} may skip what would move out of line {line}")
        clash = (one.binds & (other.reads | other.binds)) | (one.reads & other.binds)
        if clash:
            raise Refused(f"`{min(clash)}` changes between line {line} and line {at}")
        _refuse_disorder(source, one, other, line, each)
        _refuse_disorder(source, other, one, at, moved)
        changes = {name for name in other.changes if not _begins_plain(source, each, name)}
        if other.unknown is not None or changes:
            for name in sorted(one.reads - set(own) - other.changes):
                if not is_own(source, moved, name):
                    part = other.unknown or each
                    raise Refused(
                        f"`{shortened(source, part)}` in line {source.begin(part).line} may change"
                        f" `{name}`"
                    )
        touched = other.changes & (one.reads | one.changes)
        if touched:
            raise Refused(f"`{min(touched)}` is changed in place in line {at}")


def _begins_plain(source: Source, code: cst.CSTNode, name: str) -> bool:
    uses = source.names_used(code, name)
    return bool(uses) and is_plain(source, uses[0])


def _refuse_disorder(
    source: Source, one: Effects, other: Effects, line: int, at: cst.CSTNode
) -> None:
    """Refuse effects of one piece of code that those of the other may depend on."""
    if one.unknown is not None and (other.unknown or other.ordered or other.changes):
        raise Refused(
            f"`{shortened(source, one.unknown)}` in line {line} may depend on what line"
            f" {source.begin(at).line} does"
        )
    both = one.ordered & other.ordered
    if both:
        raise Refused(f"lines {line} and {source.begin(at).line} have an order: {min(both)}")
