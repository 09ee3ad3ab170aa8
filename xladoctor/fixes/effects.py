"""What code does besides computing values: the closed world in which kinds of fixes move code.

Whatever is not understood here may do anything: read and change any object that it can reach, write
output, draw random numbers, and raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import libcst as cst

from xladoctor.fixes.calls import (
    KNOWN_LIBRARIES,
    LOGS,
    OF_DICTIONARIES,
    OF_TEXTS,
    Does,
    of_function,
    of_method,
)
from xladoctor.fixes.interface import Refused
from xladoctor.fixes.names import definition_of, is_iterator, root_of
from xladoctor.fixes.source import Source, keyword, method_of
from xladoctor.quantities import clipped

#: Statements and expressions that leave the code around them, or let other code run.
_LEAVES = (cst.Return, cst.Break, cst.Continue, cst.Yield, cst.Await, cst.Raise)
_OPAQUE = (
    *(cst.Global, cst.Nonlocal, cst.Try, cst.TryStar, cst.With, cst.Del, cst.Import),
    *(cst.ImportFrom, cst.ClassDef, cst.FunctionDef, cst.Match, cst.Assert, cst.Lambda),
)
_ORDERED = {
    Does.shows: "output",
    Does.draws: "random numbers",
    Does.tells_time: "time",
    Does.differentiates: "gradients",
}
#: Methods by which operators, subscripts and formats call code of a class.
_ARITHMETIC = frozenset(
    f"__{prefix}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow")
    for prefix in ("", "i", "r")
) | {"__neg__", "__invert__"}
_TESTS = frozenset(
    f"__{name}__" for name in ("bool", "contains", "eq", "ge", "gt", "le", "lt", "ne")
)
_TEXTS = frozenset(("__format__", "__repr__", "__str__"))
_ITEMS = frozenset(("__getitem__", "__missing__"))
_NUMBERS = frozenset(f"__{name}__" for name in ("abs", "float", "index", "int", "len", "round"))
_ATTRIBUTES = frozenset(("__get__", "__getattr__", "__getattribute__"))
_HOOKS = _ARITHMETIC | _TESTS | _TEXTS | _ITEMS | _NUMBERS | _ATTRIBUTES


@dataclass(slots=True)
class Effects:
    """What a piece of code does.

    Attributes:
        reads: variables whose values it uses.
        binds: variables that it sets.
        changes: variables whose objects it changes in place.
        ordered: effects that others see in their order: output, random numbers, time, gradients.
        unknown: the first part that may do anything.
        leaves: the first part by which what follows it may not be reached.
    """

    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    ordered: set[str] = field(default_factory=set)
    unknown: cst.CSTNode | None = None
    leaves: cst.CSTNode | None = None

    def add(self, other: Effects) -> None:
        """Add the effects of more code."""
        self.reads |= other.reads
        self.binds |= other.binds
        self.changes |= other.changes
        self.ordered |= other.ordered
        self.unknown = self.unknown or other.unknown
        self.leaves = self.leaves or other.leaves


def effects(source: Source, *code: cst.CSTNode) -> Effects:
    """What pieces of code do together."""
    found = Effects()
    for each in code:
        found.add(_Reader(source).read(each))
    return found


def refuse_effects(
    source: Source, code: cst.CSTNode, but: Iterable[cst.CSTNode] = (), ordered: bool = False
) -> None:
    """Refuse code that does more than compute a value, so that it matters when and how often it is
    run.

    Args:
        but: calls in it that are understood otherwise; what they are given is looked at.
        ordered: whether it may read the clock.
    """
    found = _Reader(source, frozenset(but)).read(code)
    more = found.unknown or found.leaves
    if more is not None:
        raise Refused(
            f"`{shortened(source, more)}` may do more than compute a value"
            f" (line {source.begin(more).line})"
        )
    if found.changes:
        raise Refused(f"line {source.begin(code).line} may change `{min(found.changes)}` in place")
    apart = found.ordered - ({"time"} if ordered else set())
    if apart:
        raise Refused(f"line {source.begin(code).line} has an effect on {min(apart)}")
    bound = [*source.all(cst.NamedExpr, code)]
    if bound:
        raise Refused(f"`{source.code(bound[0])}` sets a variable")


def refuse_method(source: Source, call: cst.Call) -> None:
    """Refuse a call of a method, if a class of the file shows that it changes more than its object
    or may end otherwise than by returning.
    """
    name = method_of(call)
    for class_ in source.all(cst.ClassDef):
        for each in source.all(cst.FunctionDef, class_):
            if each.name.value == name:
                found = effects(source, each.body)
                others = found.changes - {"self"} - source.names_bound(each.body)
                ends = [*source.all(_LEAVES, each.body)]
                if (
                    found.unknown
                    or others
                    or found.ordered
                    or each.decorators
                    or not all(isinstance(end, cst.Return) for end in ends)
                ):
                    line = source.begin(each).line
                    raise Refused(f"`{name}` of line {line} may do more than change its object")


def shortened(source: Source, node: cst.CSTNode) -> str:
    """The text of a node for a message, at most one line of it."""
    return clipped(" ".join(source.code(node).split()), 60)


class _Reader:
    """Reads the effects of code.

    Args:
        apart: calls of which only the arguments are read.
        within: functions of the file that are being read.
    """

    def __init__(
        self,
        source: Source,
        apart: frozenset[cst.CSTNode] = frozenset(),
        within: frozenset[str] = frozenset(),
    ) -> None:
        self._source = source
        self._apart = apart
        self._within = within
        self._found = Effects()

    def read(self, code: cst.CSTNode) -> Effects:
        found = self._found
        found.binds |= self._source.names_bound(code)
        for node in self._source.all(cst.CSTNode, code):
            self._node(node)
        names = {each.value for each in self._source.variables(code)}
        found.reads |= names - found.binds | self._read_and_bound(code, found.binds)
        return found

    def _read_and_bound(self, code: cst.CSTNode, bound: set[str]) -> set[str]:
        """Variables that code sets and may read, too."""
        return {
            each.value
            for each in self._source.variables(code)
            if each.value in bound
            and not isinstance(self._source.parent(each), (cst.AssignTarget, cst.CompFor))
        }

    def _node(self, node: cst.CSTNode) -> None:
        found = self._found
        match node:
            case cst.Call():
                self._call(node)
            case cst.Attribute():
                self._attribute(node)
            case cst.AugAssign(target=target):
                found.changes.add(root_of(target) or "an object")
            case cst.AssignTarget(target=cst.Attribute() | cst.Subscript() as target):
                found.changes.add(root_of(target) or "an object")
            case cst.CompFor(iter=iterated) | cst.For(iter=iterated):
                self._iterates(iterated)
            case cst.StarredElement() | cst.StarredDictElement() | cst.Arg(star="*"):
                self._iterates(node.value)
            case _ if isinstance(node, _LEAVES):
                found.leaves = found.leaves or node
            case _ if isinstance(node, _OPAQUE):
                found.unknown = found.unknown or node
            case _:
                self._expression(node)

    def _expression(self, node: cst.CSTNode) -> None:
        """Operators call methods of their operands' classes, of which the file shows some."""
        match node:
            case cst.FormattedStringExpression():
                self._operator(node, _TEXTS)
            case cst.BinaryOperation() | cst.UnaryOperation():
                self._operator(node, _ARITHMETIC)
            case cst.Subscript(value=value):
                self._operator(node, _ITEMS)
                if isinstance(value, cst.Name) and self._fills_itself(value):
                    self._unknown(node)
            case cst.Comparison() | cst.BooleanOperation() | cst.If() | cst.IfExp():
                self._operator(node, _TESTS)

    def _unknown(self, node: cst.CSTNode) -> None:
        self._found.unknown = self._found.unknown or node

    def _operator(self, node: cst.CSTNode, methods: frozenset[str]) -> None:
        operands = [each for each in node.children if isinstance(each, cst.Name)]
        if hooks(self._source) & methods or any(
            _is_foreign(self._source, each) for each in operands
        ):
            self._unknown(node)

    def _fills_itself(self, name: cst.Name) -> bool:
        """Whether an item of a variable is made by looking at it."""
        values = [each for each in self._source.values_of(name) if isinstance(each, cst.Call)]
        return any(
            "collections.defaultdict" in self._source.qualified(each.func) for each in values
        )

    def _attribute(self, node: cst.Attribute) -> None:
        above = self._source.parent(node)
        is_called = isinstance(above, cst.Call) and above.func is node
        if node.attr.value in self._source.properties or (
            not is_called and _is_foreign(self._source, node.value)
        ):
            self._unknown(node)
        if not is_called:
            self._operator(node, _ATTRIBUTES)
        if node.attr.value == "grad":
            self._found.ordered.add("gradients")

    def _iterates(self, node: cst.CSTNode) -> None:
        """What is gone through, which an iterator is only once."""
        if is_iterator(self._source, node):
            self._unknown(node)

    def _call(self, call: cst.Call) -> None:
        if call in self._apart:
            return
        does = what(self._source, call)
        if does is None:
            self._inside(call)
        elif does is Does.changes:
            root = root_of(call.func)
            if root:
                self._found.changes.add(root)
            else:
                self._unknown(call)
        elif does is Does.updates:
            self._found.changes.add("parameters")
        elif does in _ORDERED:
            self._found.ordered.add(_ORDERED[does])
        if any(keyword(arg) in ("out", "inplace") for arg in call.args):
            self._unknown(call)
        if isinstance(call.func, cst.Name):
            self._operator(call, _TEXTS | _NUMBERS)
            for arg in call.args:
                self._iterates(arg.value)

    def _inside(self, call: cst.Call) -> None:
        """A function of the file, if it only computes with its arguments and its own variables."""
        definition = definition_of(self._source, call)
        name = definition.name.value if definition is not None else ""
        if definition is None or name in self._within:
            return self._unknown(call)
        inner = _Reader(self._source, within=self._within | {name}).read(definition.body)
        returns = [*self._source.all(cst.Return, definition.body)]
        last = definition.body.body[-1]
        plain = [each for each in returns if each in getattr(last, "body", ())]
        self._found.ordered |= inner.ordered
        if inner.unknown or inner.changes or len(plain) < len(returns):
            return self._unknown(call)
        if inner.leaves is not None and inner.leaves not in returns:
            return self._unknown(call)
        params = {each.name.value for each in definition.params.params}
        self._found.reads |= inner.reads - params - inner.binds
        return None


def what(source: Source, call: cst.Call) -> Does | None:
    """What a call does, by the names of functions and methods; None if that is not known."""
    func = call.func
    if isinstance(func, cst.Attribute) and root_of(func) not in source.imported:
        return _method(source, func)
    kinds = {of_function(name) for name in source.qualified(func)}
    return kinds.pop() if len(kinds) == 1 else None


def _method(source: Source, func: cst.Attribute) -> Does | None:
    name, receiver = func.attr.value, func.value
    if name in source.methods or _is_foreign(source, receiver):
        return None
    if name in LOGS:
        return Does.shows
    if name in ("step", "zero_grad"):
        return Does.updates if _is_optimizer(source, receiver) else None
    if name in OF_TEXTS:
        return Does.computes if isinstance(receiver, cst.BaseString) else None
    if name in OF_DICTIONARIES and isinstance(receiver, cst.Name):
        value = source.value_of(receiver)
        if isinstance(value, cst.Dict) or (
            isinstance(value, cst.Call) and source.qualified(value.func) == {"builtins.dict"}
        ):
            return Does.computes
    return of_method(name)


def _is_optimizer(source: Source, name: cst.BaseExpression) -> bool:
    value = source.value_of(name) if isinstance(name, cst.Name) else None
    names = source.qualified(value.func) if isinstance(value, cst.Call) else set[str]()
    return bool(names) and all(each.startswith("torch.optim.") for each in names)


def hooks(source: Source) -> frozenset[str]:
    """The methods of the file's classes by which operators call them, and that do more than
    compute.
    """
    if source.hooks is None:
        source.hooks = frozenset[str]()  # while they are read themselves
        source.hooks = frozenset(
            each.name.value
            for class_ in source.all(cst.ClassDef)
            for each in source.all(cst.FunctionDef, class_)
            if each.name.value in _HOOKS and not _only_computes(source, each)
        )
    return source.hooks


def _only_computes(source: Source, method: cst.FunctionDef) -> bool:
    found = effects(source, method.body)
    only_returns = found.leaves is None or isinstance(found.leaves, cst.Return)
    return not (found.unknown or found.changes or found.ordered) and only_returns


def _is_foreign(source: Source, receiver: cst.BaseExpression) -> bool:
    """Whether an object is made by a class or function of a library that is not known."""
    prefixes = {source.code(receiver)}
    while isinstance(receiver, (cst.Attribute, cst.Subscript)):
        receiver = receiver.value
        prefixes.add(source.code(receiver))
    if not isinstance(receiver, cst.Name):
        return False
    return any(
        isinstance(value, cst.Call) and _is_unknown_library(source, value)
        for assign in source.all(cst.Assign)
        for target, value in _pairs(assign)
        if source.code(target) in prefixes
    )


def _pairs(assign: cst.Assign) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What an assignment sets, and to what."""
    for each in assign.targets:
        match each.target, assign.value:
            case cst.Tuple(elements=targets), cst.Tuple(elements=values):
                yield from (
                    (one.value, other.value) for one, other in zip(targets, values, strict=False)
                )
            case target, value:
                yield target, value


def _is_unknown_library(source: Source, call: cst.Call) -> bool:
    for class_ in source.all(cst.ClassDef):
        if isinstance(call.func, cst.Name) and class_.name.value == call.func.value:
            return any(_is_library(source, base.value) for base in class_.bases)
    return _is_library(source, call.func)


def _is_library(source: Source, made: cst.BaseExpression) -> bool:
    root = root_of(made)
    if root is None or root not in source.imported:
        return False
    names = source.qualified(made)
    return any(name.split(".")[0] not in KNOWN_LIBRARIES for name in names)
