"""Sends a Python number that changes from step to step to the device as data (torch_xla)."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from xladoctor.fixes.calls import Does
from xladoctor.fixes.case import Case
from xladoctor.fixes.effects import effects, what
from xladoctor.fixes.interface import Change, Refused, Unsuited
from xladoctor.fixes.names import bound_in, fresh, function, root_of
from xladoctor.fixes.source import SOMETIMES, Source
from xladoctor.fixes.values import COUNTERS, escapes, is_plain

_POWERS = frozenset(("torch.pow",))
_ROLLS = frozenset(("torch.roll",))
_DRAWN = frozenset(("random.choices", "random.sample"))


def fix(case: Case) -> Change:
    """For the one exponent, index, shift or list of weights on the finding's line."""
    source, line = case.source, case.line
    if case.frontend != "torch_xla":
        raise Unsuited("only torch_xla compiles in such numbers")
    torch, imports = source.import_of("torch", source.statement(line))
    if imports:
        raise Refused("the file does not import torch")
    if case.cause.get("kind") == "unknown":
        found = [*_in_loop(source, line, torch)]
        where = f"the loop around line {line}"
    else:
        operation = str(case.cause.get("op") or "")
        found = [*_Forms(source, source.statement(line), torch).changes(operation)]
        where = f"line {line}"
    if len(found) != 1:
        what = "more than one number" if found else "no exponent, index or shift that is understood"
        raise Refused(f"{where} has {what}")
    return found[0]


def _in_loop(source: Source, line: int, torch: str) -> Iterator[Change]:
    """The weights that a loop draws, where the finding only names the end of its graph."""
    for loop in source.loops_around(source.statement(line))[-1:]:
        for statement in source.all(cst.SimpleStatementLine, loop):
            try:
                yield from _Forms(source, statement, torch).changes("mul")
            except Refused:
                continue


class _Forms:
    """The forms on a line in which numbers are compiled in, with what takes a tensor instead."""

    def __init__(self, source: Source, statement: cst.SimpleStatementLine, torch: str) -> None:
        self._source = source
        self._torch = torch
        self._statement = statement

    def changes(self, op: str) -> Iterator[Change]:
        """A change for each of them.

        Args:
            op: the operation that the finding names; empty if it names none.
        """
        if not op or "pow" in op:
            for operation in self._source.all(cst.BinaryOperation, self._statement):
                if isinstance(operation.operator, cst.Power):
                    yield from self._power(operation, operation.left, operation.right)
        if not op or "slice" in op or "select" in op:
            for subscript in self._source.all(cst.Subscript, self._statement):
                yield from self._index(subscript)
        for call in self._source.all(cst.Call, self._statement):
            yield from self._called(call, op)

    def _called(self, call: cst.Call, op: str) -> Iterator[Change]:
        values = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        names = self._source.qualified(call.func)
        if names & _POWERS and len(values) == len(call.args) == 2 and (not op or "pow" in op):
            yield from self._power(call, *values)
        elif names & _ROLLS and (not op or "roll" in op):
            yield from self._roll(call, values)
        elif "builtins.zip" in names and len(values) == 2 and (not op or "mul" in op):
            yield from self._weights(*values)

    def _sent(self, number: cst.BaseExpression, tensor: str) -> str:
        return f"{self._torch}.tensor([{self._source.code(number)}]).to({tensor})"

    def _power(
        self, whole: cst.BaseExpression, base: cst.BaseExpression, exponent: cst.BaseExpression
    ) -> Iterator[Change]:
        if isinstance(exponent, (cst.Integer, cst.Float, cst.UnaryOperation)):
            return
        if not isinstance(exponent, cst.Name):
            raise Refused(f"the exponent `{self._source.code(exponent)}` is not a variable")
        if not isinstance(base, cst.Name):
            code = self._source.code(base)
            raise Refused(f"`{code}` would be computed twice", "name it in a separate line")
        if is_plain(self._source, base):
            raise Refused(f"`{base.value}` is a number")
        sent = self._sent(exponent, f"{base.value}.device")
        yield Change(
            f"pass the exponent `{exponent.value}` as data",
            (self._source.replace(whole, f"{self._torch}.pow({base.value}, {sent}[0])"),),
            relies_on=(f"{base.value} has a dimension, or at least 32 bits",),
        )

    def _index(self, subscript: cst.Subscript) -> Iterator[Change]:
        index = subscript.slice[0].slice
        if not (len(subscript.slice) == 1 and isinstance(index, cst.Index)):
            return
        number, table = index.value, subscript.value
        if not isinstance(number, cst.Name):
            return
        self._refuse_written(subscript)
        if not isinstance(table, (cst.Name, cst.Attribute)):
            raise Refused(f"`{self._source.code(table)}` would be computed twice")
        if not self._counts(number):
            raise Refused(f"{number.value} may be negative: it is not the counter of a loop")
        name = self._source.code(table)
        sent = self._sent(number, f"{name}.device")
        behaviour = ""
        if escapes(self._source, subscript):
            code = self._source.code(subscript)
            behaviour = f"`{code}` is a copy: what is written into it does not reach `{name}`"
        yield Change(
            f"pass the index `{number.value}` as data",
            (self._source.replace(subscript, f"{name}.index_select(0, {sent})[0]"),),
            behaviour,
            relies_on=(f"{name} is a tensor",),
        )

    def _refuse_written(self, subscript: cst.Subscript) -> None:
        """Refuse an element that is set or changed, by itself or by a variable for it."""
        above = self._source.parent(subscript)
        call = self._source.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Name):
            own = function(self._source, call.func.value)
            if own is not None and effects(self._source, own.body).changes:
                raise Refused(f"{call.func.value}() may write into its argument")
        source = self._source
        if source.is_bound_at(subscript):
            raise Refused(f"`{source.code(subscript)}` is set")
        changes = effects(source, source.owner(subscript)).changes
        if (root := root_of(subscript.value)) in changes and escapes(source, subscript):
            raise Refused(f"`{root}` is changed in place, which a copy of an element does not see")
        match source.parent(subscript):
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)]):
                if name.value in changes:
                    raise Refused(f"`{name.value}` is changed in place")
            case cst.Attribute() as method:
                call = source.parent(method)
                if isinstance(call, cst.Call) and what(source, call) in (None, Does.changes):
                    raise Refused(f"`{source.code(method)}` may change it")

    def _counts(self, number: cst.Name) -> bool:
        """Whether a variable counts a loop's iterations from 0, and nothing else changes it."""
        for loop in self._source.loops_around(self._statement):
            if not isinstance(loop, cst.For) or not isinstance(loop.iter, cst.Call):
                continue
            if any(arg.star for arg in loop.iter.args):
                return False
            names = self._source.qualified(loop.iter.func) & COUNTERS
            target: cst.BaseExpression = loop.target
            args = loop.iter.args
            if "builtins.enumerate" in names and isinstance(target, cst.Tuple):
                target, args = target.elements[0].value, args[1:]
            elif len(args) == 1:
                args = ()
            plain = all(isinstance(arg.value, cst.Integer) for arg in args[:1])
            if names and plain and isinstance(target, cst.Name) and target.value == number.value:
                return len(args) <= 2 and number.value not in bound_in(self._source, loop.body)
        return False

    def _roll(self, call: cst.Call, values: list[cst.BaseExpression]) -> Iterator[Change]:
        given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword}
        given |= dict(zip(("input", "shifts", "dims"), values, strict=False))
        tensor, shift, dim = (given.get(name) for name in ("input", "shifts", "dims"))
        if not isinstance(shift, cst.Name):
            return
        if not isinstance(tensor, cst.Name) or not isinstance(dim, cst.Integer) or len(given) != 3:
            raise Refused("torch.roll is not called for one dimension of a variable")
        yield self._rolled(call, tensor.value, shift, dim.value)

    def _rolled(self, call: cst.Call, tensor: str, shift: cst.Name, dim: str) -> Change:
        """``index_select`` by places that are computed from the shift, in lines of their own."""
        source = self._source
        inside = any(isinstance(above, SOMETIMES) for above in source.around(call))
        if inside or any(source.all(cst.NamedExpr, self._statement)):
            raise Refused("its places cannot be computed before its statement")
        offset, places = fresh(source, "offset"), fresh(source, "places")
        size, device = f"{tensor}.shape[{dim}]", f"{tensor}.device"
        computed = (
            f"{offset} = {self._sent(shift, device)}",
            f"{places} = {self._torch}.arange({size}, device={device}) - {offset}",
        )
        selected = f"{tensor}.index_select({dim}, {places} % {size})"
        edits = (
            source.insert_before(self._statement, *computed),
            source.replace(call, selected),
        )
        return Change(f"pass the shift `{shift.value}` as data", edits)

    def _weights(
        self, weights: cst.BaseExpression, tensors: cst.BaseExpression
    ) -> Iterator[Change]:
        """Numbers that were drawn, in a zip with the rows of a tensor."""
        source = self._source
        if not isinstance(weights, cst.Name) or not isinstance(tensors, cst.Name):
            return
        drawn = self._assigned(weights.value)
        made = self._assigned(tensors.value)
        if not isinstance(drawn, cst.Call) or not source.qualified(drawn.func) & _DRAWN:
            raise Refused(f"the values of {weights.value} are not known: no random.choices")
        if not isinstance(made, cst.Call) or not _is_of_tensors(source, made):
            raise Refused(f"{tensors.value} may be a list")
        drawn_in = self._statement_of(drawn)
        if len(source.names_used(source.owner(self._statement), weights.value)) != 2 or (
            source.parent(drawn_in) is not source.parent(self._statement)
        ):
            raise Refused(f"{weights.value} is also used elsewhere")
        sent = f"{weights.value} = {self._torch}.tensor({weights.value}).to({tensors.value}.device)"
        yield Change(
            f"send `{weights.value}` as one tensor",
            (source.insert_before(self._statement, sent),),
        )

    def _statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        return next(
            above
            for above in self._source.around(node)
            if isinstance(above, cst.SimpleStatementLine)
        )

    def _assigned(self, name: str) -> cst.BaseExpression | None:
        """The only value that is assigned to a variable in the function."""
        found = self._source.assigned(name, self._source.owner(self._statement))
        return found[0] if len(found) == 1 else None


def _is_of_tensors(source: Source, call: cst.Call) -> bool:
    """Whether a call is one of a function of torch, or a method of what such a call returns."""
    if any(name.startswith("torch.") for name in source.qualified(call.func)):
        return True
    value = call.func.value if isinstance(call.func, cst.Attribute) else None
    return isinstance(value, cst.Call) and _is_of_tensors(source, value)
