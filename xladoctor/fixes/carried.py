"""A variable that a loop carries: set before the loop, changed by a statement in it, used below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from xladoctor.fixes.interface import Edit, Refused
from xladoctor.fixes.names import root_of
from xladoctor.fixes.source import Loop, Source

#: Contexts that always run their block once, and hide no exception.
_MODES = frozenset(f"torch.{name}" for name in ("no_grad", "inference_mode", "enable_grad"))
_HIDING = frozenset(("contextlib.suppress",))


@dataclass(frozen=True, slots=True)
class Carried:
    """A variable that a loop carries.

    Attributes:
        statement: what changes it in each iteration.
        loop: the outermost loop that runs between where it is set and where it is used.
        start: the value that it has before the loop.
        inside: where else the loop names it.
        after: where it is used, other than in the loop.
    """

    source: Source
    name: str
    statement: cst.SimpleStatementLine
    loop: Loop
    start: cst.BaseExpression
    inside: tuple[cst.Name, ...]
    after: tuple[cst.Name, ...]

    def refuse_uses_inside(self, *uses: cst.Name) -> None:
        """Refuse a variable that the loop uses otherwise: all uses in it, or these."""
        for each in uses or self.inside:
            line = self.source.begin(each).line
            raise Refused(
                f"`{self.name}` is used in the loop in line {line}, too",
                "use it there only in some steps: if step % 50 == 0",
            )

    def read_after(self, read: str) -> tuple[Edit, ...]:
        """Read it once, below the loop.

        Args:
            read: the text of the read.
        """
        if not self.after and self.source.function_around(self.loop) is not None:
            return ()  # of a module, others may use it
        if len(self.after) == 1 and self._is_plain(self.after[0]):
            return (self.source.replace(self.after[0], read),)
        return (self.source.insert_after(self.loop, f"{self.name} = {read}"),)

    def _is_plain(self, use: cst.Name) -> bool:
        """Whether a use is evaluated once, below the loop, and may become another expression."""
        source = self.source
        if source.begin(use) < source.end(self.loop):
            return False
        for above in source.around(use):
            match above:
                case cst.SimpleStatementLine():
                    return source.parent(above) is source.parent(self.loop)
                case cst.FormattedStringExpression(equal=cst.AssignEqual()):
                    return False
                case cst.Lambda() | cst.CompFor() | cst.BaseComp() | cst.AugAssign() | cst.Del():
                    return False
                case cst.AssignTarget():
                    return False
        return False


def carried(source: Source, statement: cst.SimpleStatementLine, name: str) -> Carried:
    """A variable that a statement in a loop changes.

    Raises:
        Refused: it is not one of its function's own, or is not set right in front of a loop.
    """
    scope = source.owner(statement)
    refuse_shared(source, scope, name)
    starts = _starts(source, scope, name)
    for loop in source.loops_around(statement):
        blocks = [*_blocks(source, loop)]
        before = [
            (line, value)
            for line, value in starts
            if source.parent(line) in blocks and source.end(line) < source.begin(loop)
        ]
        if before:
            refuse_handlers(source, loop, name)
            refuse_caught(source, statement, loop)
            line, start = before[-1]
            uses = source.names_used(scope, name)
            own = set(source.names_used(statement, name))
            inside = set(source.names_used(loop, name))
            set_at = {use for each, _ in starts for use in targets_in(source, each, name)}
            for use in set(uses) - inside:
                if source.end(line) < source.begin(use) < source.begin(loop):
                    raise Refused(f"`{name}` is used in line {source.begin(use).line}, too")
            after = [each for each in uses if each not in inside | set_at]
            refuse_elsewhere(source, source.parent(line), after)
            return Carried(
                source,
                name,
                statement,
                loop,
                start,
                tuple(each for each in uses if each in inside - own),
                tuple(after),
            )
    raise Refused(f"`{name}` is not set to a plain value in front of the loop")


def _blocks(source: Source, loop: Loop) -> Iterator[cst.CSTNode | None]:
    """The block that a loop is in, and those around it if only ``with torch.no_grad()`` or the like
    is between.
    """
    block = source.parent(loop)
    yield block
    while isinstance(block, cst.IndentedBlock) and isinstance(
        around := source.parent(block), cst.With
    ):
        for each in around.items:
            if not isinstance(each.item, cst.Call) or not source.qualified(each.item.func) & _MODES:
                return
        block = source.parent(around)
        yield block


def _starts(
    source: Source, scope: cst.CSTNode, name: str
) -> list[tuple[cst.SimpleStatementLine, cst.BaseExpression]]:
    """The statements that set a variable to a value of its own, and the values."""
    found = []
    for line in source.all(cst.SimpleStatementLine, scope):
        match line.body:
            case [cst.Assign(targets=[cst.AssignTarget(target=target)], value=value)]:
                pair = value_for(target, value, name)
                if pair is not None:
                    found.append((line, pair))
    return found


def value_for(
    target: cst.BaseExpression, value: cst.BaseExpression, name: str
) -> cst.BaseExpression | None:
    """What an assignment gives a variable, which may be one of several; None if it gives none."""
    match target, value:
        case cst.Name(each), _ if each == name:
            return value
        case cst.Tuple(elements=targets), cst.Tuple(elements=values) if len(targets) == len(values):
            for one, other in zip(targets, values, strict=True):
                match one.value:
                    case cst.Name(each) if each == name:
                        return other.value
    return None


def targets_in(source: Source, line: cst.CSTNode, name: str) -> list[cst.Name]:
    """Where a statement sets a variable."""
    return [
        use
        for target in source.all(cst.AssignTarget, line)
        for use in source.names_used(target, name)
    ]


def refuse_shared(source: Source, scope: cst.CSTNode, name: str) -> None:
    """Refuse a variable that other functions see."""
    for item in source.all(cst.NameItem):  # of `global` or `nonlocal`
        if item.name.value == name:
            raise Refused(f"`{name}` is shared between functions (line {source.begin(item).line})")
    for use in source.names_used(scope, name):
        for above in source.around(use):
            if isinstance(above, cst.ClassDef) and not isinstance(scope, cst.FunctionDef):
                raise Refused(f"`{name}` may be an attribute of `{above.name.value}`")
            if above is scope:
                break
            if isinstance(above, (cst.FunctionDef, cst.Lambda, cst.ClassDef)) and _is_of(
                source, use, scope
            ):
                line = source.begin(use).line
                raise Refused(f"`{name}` is used by an inner function in line {line}")


def _is_of(source: Source, use: cst.Name, scope: cst.CSTNode) -> bool:
    """Whether a name within a nested function is the variable of the scope around it."""
    if isinstance(scope, cst.FunctionDef):
        return True
    seen = source.scope(use) or source.scope(source.parent(use) or use)
    own = source.scope(source.module.body[0])
    return seen is None or any(found.scope is own for found in seen[use.value])


def refuse_handlers(source: Source, loop: cst.CSTNode, name: str) -> None:
    """Refuse a loop after whose failure the variable is used."""
    for above in source.around(loop):
        if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
            return
        if isinstance(above, cst.Try):
            parts = [*above.handlers, *filter(None, (above.orelse, above.finalbody))]
            for part in parts:
                for use in source.names_used(part, name):
                    line = source.begin(use).line
                    raise Refused(f"`{name}` is used in line {line}, also if the loop fails")


def refuse_elsewhere(source: Source, block: cst.CSTNode | None, uses: Iterable[cst.Name]) -> None:
    """Refuse a use that may be reached without what stands in a block."""
    for use in uses:
        if not any(above is block for above in source.around(use)):
            line = source.begin(use).line
            raise Refused(f"`{use.value}` is used in line {line}, in another block")


def refuse_caught(source: Source, statement: cst.CSTNode, loop: cst.CSTNode) -> None:
    """Refuse a statement whose failure the loop may go on after."""
    for above in source.around(statement):
        if above is loop:
            return
        hides = isinstance(above, cst.With) and source.calls_of(_HIDING, above.items[0])
        if hides or isinstance(above, (cst.Try, cst.TryStar)):
            raise Refused(f"it is in the `try` in line {source.begin(above).line}")


def is_occasional(source: Source, loop: cst.CSTNode, use: cst.CSTNode) -> bool:
    """Whether a name or statement in a loop is in an ``if step % n`` of this loop itself."""
    inner: cst.CSTNode = use
    for above in source.around(use):
        if above is loop or isinstance(above, (cst.For, cst.While, cst.Lambda)):
            return False
        if isinstance(above, cst.If) and inner is above.body and _has_modulo(source, above.test):
            return True
        inner = above
    return False


def _has_modulo(source: Source, test: cst.BaseExpression) -> bool:
    operations = source.all(cst.BinaryOperation, test)
    return any(isinstance(each.operator, cst.Modulo) for each in operations)


def refuse_reused(source: Source, loop: cst.CSTNode, tensor: cst.BaseExpression) -> None:
    """Refuse to keep a tensor that a later iteration changes in place, or whose memory it takes."""
    name = root_of(tensor)
    if name is None:
        return  # computed anew
    above = [source.parent(use) for use in source.names_used(loop, name)]
    if not any(isinstance(each, (cst.AssignTarget, cst.Element)) for each in above):
        raise Refused(f"`{name}` may be the same in each iteration")
    if any(isinstance(each, cst.AugAssign) or _in_place(each) for each in above):
        raise Refused(f"`{name}` is changed in place in the loop")
    if "donate" in source.text and any(isinstance(each, cst.Arg) for each in above):
        raise Refused(f"`{name}` may be donated to the next step")


def _in_place(node: cst.CSTNode | None) -> bool:
    match node:
        case cst.Attribute(attr=cst.Name(name)):
            return name.endswith("_") and not name.endswith("__")
    return False
