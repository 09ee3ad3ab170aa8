"""Moves one file: finds the names of the package that it uses, and puts others in their place.

Statements that have no meaning after the move are removed, with the comments right above them;
everything else stays as it is, to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from xladoctor.fixes.interface import Refused
from xladoctor.fixes.source import Source, called, method_of
from xladoctor.move.blocks import gone, without_gone
from xladoctor.move.calls import bound, chosen, expression
from xladoctor.move.interface import Remark, Target
from xladoctor.move.table import Names

_PRINTS = re.compile(r"(^|\.)(print|master_print|info|debug|write|log)$")
#: Texts that only happen to be a device's name: of a statement by itself, or joined to others.
_NO_DEVICES = (cst.Expr, cst.ConcatenatedString)
#: Where it is clear that a text names a device.
_OF_DEVICES = (cst.Arg, cst.Comparison, cst.ComparisonTarget)
_BARE = (cst.If, cst.While, cst.Arg, cst.Assign, cst.Return, cst.Assert)


@dataclass
class Found:
    """What is noted while a file is moved."""

    relies: set[Remark] = field(default_factory=set)
    behaviour: set[Remark] = field(default_factory=set)
    refused: set[Remark] = field(default_factory=set)
    helpers: set[str] = field(default_factory=set)


class Converter(cst.CSTTransformer):
    """Puts other names in the place of a package's.

    Args:
        several: whether the program runs in several processes.
    """

    def __init__(self, source: Source, names: Names, target: Target, *, several: bool) -> None:
        super().__init__()
        self.found = Found()
        self._source = source
        self._names = names
        self._target = target
        self._several = several
        self._removed = set[cst.CSTNode]()
        self._renamed = renamed(source, names)
        self._own: dict[str, cst.BaseExpression] = {
            "device": cst.SimpleString(f'"{target.device}"'),
            "kind": cst.SimpleString(f'"{target.device.upper()}"'),
            "seeder": cst.parse_expression(target.seeder),
        }

    # -- what is named -----------------------------------------------------------------

    def full_name(self, node: cst.CSTNode) -> str:
        """The package's full name for a node; empty if it is none of its."""
        found = self._source.qualified(node)
        return next((name for name in sorted(found) if self._names.is_of_package(name)), "")

    def _remark(self, node: cst.CSTNode, code: str, text: str) -> Remark:
        return Remark(self._source.begin(node).line, code, text)

    def refuse(self, node: cst.CSTNode, name: str, reason: str = "") -> None:
        """Note that a line has to be changed by hand."""
        by_hand = self._names.instead(name, self._target.replaced)
        text = "; ".join(filter(None, (reason, by_hand))) or "nothing is known to take its place"
        self.found.refused.add(self._remark(node, name, text))

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        module = self._source.code(node.module) if node.module and not node.relative else ""
        if isinstance(node.names, cst.ImportStar) and self._names.is_of_package(module):
            self.refuse(node, f"{module}.*", "import the names that are used")
        return False

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> Any:
        return self._reference(original_node, updated_node)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> Any:
        return self._reference(original_node, updated_node)

    def _reference(self, original: Any, updated: Any) -> Any:
        """A name that is not called, or keeps its arguments."""
        above = self._source.parent(original)
        is_part = isinstance(above, cst.Attribute) and (
            above.attr is original or bool(self.full_name(above))
        )
        if is_part:
            return updated
        if isinstance(above, cst.Arg) and above.keyword is original:
            return updated
        name = self.full_name(original)
        is_called = isinstance(above, cst.Call) and above.func is original
        if not name or (is_called and name in self._names.calls):
            return updated
        if name in self._names.names:
            return self._parsed(self._names.names[name])
        if not (isinstance(original, cst.Name) and self._source.is_bound_at(original)):
            self.refuse(original, name)
        return updated

    def _parsed(self, text: str) -> cst.BaseExpression:
        self._needs(text)
        return cst.parse_expression(self._with_own_names(text))

    # -- calls -------------------------------------------------------------------------

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> Any:
        name = self.full_name(original_node.func) or self._other_name(original_node)
        entry = self._names.calls.get(name)
        above = self._source.parent(original_node)
        if entry is None or above in self._removed or isinstance(above, cst.Decorator):
            return updated_node
        try:
            arguments = bound(updated_node, entry)
            text = chosen(entry, arguments, several=self._several)
            if entry.of_steps is not None and self._takes_a_step(original_node):
                text = entry.of_steps
            if not text:
                self._remove(original_node)
        except Refused as refused:
            self.refuse(original_node, name, refused.reason)
            return updated_node
        compiled = entry.of_steps is not None and text != entry.of_steps
        for remarks, sentence in (
            (self.found.relies, entry.relies),
            (self.found.behaviour, "" if compiled else entry.behaviour),
        ):
            if sentence:
                remarks.add(self._remark(original_node, name, sentence))
        if not text:
            return updated_node
        self._needs(text)
        made = expression(self._with_own_names(text), updated_node, arguments, entry, self._own)
        if isinstance(above, _BARE) and not original_node.lpar:
            made = made.with_changes(lpar=(), rpar=())
        return made

    def visit_Call(self, node: cst.Call) -> None:
        """Note a library that does not know the target's device, or a method for the old one."""
        named = {f"*.{method_of(node)}"}
        if self._target.foreign:
            named |= self._source.qualified(node.func)
        for name in named & self._names.libraries.keys():
            text = self._names.libraries[name].replace("{device}", f'"{self._target.device}"')
            self.found.refused.add(self._remark(node, name.removeprefix("*."), text))

    def _other_name(self, call: cst.Call) -> str:
        """The full name of another package's function, if it is called in this package's way."""
        for name in self._source.qualified(call.func) & self._names.others.keys():
            if any(self._is_device(arg.value) for arg in call.args):
                return name
        return ""

    def _is_device(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.SimpleString) and bool(
            self._names.device.fullmatch(str(node.evaluated_value))
        )

    def leave_SimpleString(
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> Any:
        above = self._source.parent(original_node)
        if not self._is_device(original_node) or isinstance(above, _NO_DEVICES):
            return updated_node
        if not isinstance(above, _OF_DEVICES):
            text = (
                f"this names the device; a command line that does has to say {self._target.device}"
            )
            self.found.relies.add(self._remark(original_node, original_node.value, text))
        _, colon, number = str(original_node.evaluated_value).partition(":")
        text = f"{original_node.prefix}{original_node.quote}{self._target.device}{colon}{number}"
        return updated_node.with_changes(value=f"{text}{original_node.quote}")

    def visit_Comparison(self, node: cst.Comparison) -> None:
        """Note where a tensor's device is compared, which has a number."""
        compared = (cst.Equal, cst.NotEqual)
        if isinstance(node.comparisons[0].operator, compared) and any(
            isinstance(side, cst.Attribute) and side.attr.value == "device"
            for side in (node.left, node.comparisons[0].comparator)
        ):
            text = f"{self._target.device} has no number, as a tensor's device has: compare types"
            self.found.relies.add(self._remark(node, self._source.code(node), text))

    def visit_Assign(self, node: cst.Assign) -> None:
        """Remove what sets a variable of the environment that means nothing after the move."""
        target = node.targets[0].target
        if isinstance(target, cst.Subscript) and self._source.code(target.value) == "os.environ":
            self._remove_setting(node, target.slice[0].slice)

    def visit_Expr(self, node: cst.Expr) -> None:
        """The same for ``os.environ.setdefault``."""
        match node.value:
            case cst.Call(func=cst.Attribute(value=held, attr=cst.Name("setdefault" | "pop"))):
                if self._source.code(held) == "os.environ" and node.value.args:
                    self._remove_setting(node, node.value.args[0])

    def _remove_setting(self, statement: cst.CSTNode, place: cst.CSTNode) -> None:
        key = getattr(place, "value", None)
        name = str(key.evaluated_value) if isinstance(key, cst.SimpleString) else ""
        if name in self._names.refused:
            self.refuse(statement, name)
        elif name in self._target.replaced:
            self._removed.add(statement)
            text = self._target.replaced[name]
            self.found.behaviour.add(self._remark(statement, name, f"is no longer set: {text}"))

    def _takes_a_step(self, call: cst.Call) -> bool:
        """Whether a function that is to be compiled has the backward pass in it, as far as it is
        known: one that is not of this file may have.
        """
        name = self._source.code(call.args[0].value).rpartition(".")[2] if call.args else ""
        found = self._functions(name)
        return not found or self._has_backward(found)

    def _functions(self, name: str) -> list[cst.FunctionDef]:
        return [each for each in self._source.all(cst.FunctionDef) if each.name.value == name]

    def _has_backward(self, functions: list[cst.FunctionDef]) -> bool:
        """Whether one of these functions, or another of the file that it calls, has it."""
        pending, seen = list(functions), set[cst.FunctionDef]()
        while pending:
            function = pending.pop()
            if function in seen:
                continue
            seen.add(function)
            names = {called(each) for each in self._source.all(cst.Call, function)}
            if "backward" in names:
                return True
            pending += [each for name in names for each in self._functions(name)]
        return False

    def leave_Decorator(self, original_node: cst.Decorator, updated_node: cst.Decorator) -> Any:
        """Remove a decorator that is not for functions that take a step."""
        decorator = original_node.decorator
        named = decorator.func if isinstance(decorator, cst.Call) else decorator
        entry = self._names.calls.get(name := self.full_name(named))
        function = self._source.parent(original_node)
        if entry is None or entry.of_steps is None or not isinstance(function, cst.FunctionDef):
            return updated_node
        if not self._has_backward([function]):
            return updated_node.with_changes(decorator=self._parsed(self._names.names[name]))
        self.found.behaviour.add(self._remark(original_node, name, entry.behaviour))
        return cst.RemoveFromParent()

    def _needs(self, text: str) -> None:
        self.found.helpers |= set(re.findall(r"(?<![\w.])\w+", text)) & self._names.helpers.keys()

    def _with_own_names(self, text: str) -> str:
        return re.sub(
            r"(?<![\w.{])\w+(?!\w|\}|=)", lambda each: self._renamed.get(each[0], each[0]), text
        )

    # -- statements that go ------------------------------------------------------------

    def _remove(self, call: cst.Call) -> None:
        """Note the statement that goes with a call.

        Raises:
            Refused: its value is used.
        """
        above = self._source.parent(call)
        if isinstance(above, cst.WithItem) and above.asname is None:
            self._removed.add(above)
            return
        if isinstance(above, cst.Arg):
            printing = self._source.parent(above)
            if isinstance(printing, cst.Call) and self._prints_only(printing, above):
                call, above = printing, self._source.parent(printing)
        if isinstance(above, cst.Expr) or (
            isinstance(above, cst.Assign) and self._is_unused(above)
        ):
            self._removed.add(above)
            return
        raise Refused("its value is used")

    def _prints_only(self, call: cst.Call, arg: cst.Arg) -> bool:
        values = [each for each in call.args if not each.keyword]
        return values == [arg] and bool(_PRINTS.search(self._source.code(call.func)))

    def _is_unused(self, assign: cst.Assign) -> bool:
        (target, *more) = assign.targets
        name = target.target
        if more or not isinstance(name, cst.Name):
            return False
        uses = self._source.names_used(self._source.module, name.value)
        return all(self._source.is_bound_at(each) for each in uses)

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        if original_node in self._removed and isinstance(original_node, (cst.Expr, cst.Assign)):
            return cst.RemoveFromParent()
        return super().on_leave(original_node, updated_node)

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        if not updated_node.body:
            return gone(updated_node.leading_lines)
        if len(updated_node.body) == len(original_node.body):
            return updated_node
        *first, last = updated_node.body
        return updated_node.with_changes(
            body=[*first, last.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)]
        )

    def leave_With(self, original_node: cst.With, updated_node: cst.With) -> Any:
        kept = [
            now
            for item, now in zip(original_node.items, updated_node.items, strict=True)
            if item not in self._removed
        ]
        if len(kept) == len(updated_node.items):
            return updated_node
        if kept:
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            return updated_node.with_changes(items=kept)
        if not isinstance(updated_node.body, cst.IndentedBlock):
            return updated_node.with_changes(items=[_nothing()])
        body = [*updated_node.body.body, gone([*updated_node.body.footer, cst.EmptyLine()])]
        leading = (*updated_node.leading_lines, *getattr(body[0], "leading_lines", ()))
        return cst.FlattenSentinel([body[0].with_changes(leading_lines=leading), *body[1:]])

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> Any:
        return without_gone(updated_node)

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> Any:
        return without_gone(updated_node)

    @property
    def helper_names(self) -> Mapping[str, str]:
        """What helpers are called in this file, where that is another name."""
        return self._renamed


def _nothing() -> cst.WithItem:
    return cst.WithItem(cst.parse_expression("contextlib.nullcontext()"))


def renamed(source: Source, names: Names) -> dict[str, str]:
    """What helpers are called where the file uses their names for something else."""
    taken = {
        each.value
        for each in source.variables(source.module)
        if not any(names.is_of_package(name) for name in source.qualified(each))
        and not isinstance(source.parent(each), cst.ImportAlias)
    }
    found = {}
    for name in names.helpers.keys() & taken:
        candidates = (f"get_{name}", *(f"{name}_{number}" for number in range(2, 99)))
        found[name] = next(each for each in candidates if each not in taken)
    return found
