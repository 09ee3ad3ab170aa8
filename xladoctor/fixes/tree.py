"""The syntax tree of a source file, with positions in its text and what its names stand for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import (
    Assignment,
    MetadataWrapper,
    PositionProvider,
    Scope,
    ScopeProvider,
)

from xladoctor.fixes.interface import Position, Refused
from xladoctor.fixes.text import MARK, lines_of

Node = TypeVar("Node", bound=cst.CSTNode)
#: Loops, and the statements that begin a scope of their own.
LOOPS = (cst.For, cst.While)
SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.Module)
Loop = cst.For | cst.While
#: What may not be computed where it stands, or not once.
SOMETIMES = (cst.Lambda, cst.BaseComp, cst.IfExp, cst.BooleanOperation)
_DECLARING = (cst.NameItem, cst.MatchAs, cst.MatchStar, cst.MatchMapping)
_GENERATED = re.compile(r"(?i)\b(?:do not edit|@generated|auto-?generated)\b")
_HEAD = 5  # lines in which a generated file says so
#: Built-in functions by which code may use any variable, whose name is then not seen.
_REFLECTION = frozenset(
    f"builtins.{name}" for name in ("eval", "exec", "globals", "locals", "vars", "__import__")
)


class Tree:
    """A file that was parsed.

    Attributes:
        path: absolute.
        text: with the line ends as in the file.

    Raises:
        Refused: it does not parse, or is generated.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = lines_of(text.removeprefix(MARK))
        self.hooks: frozenset[str] | None = None  # see effects.hooks
        self.visiting: list[tuple[object, ...]] = []  # see values.all_of
        self._children: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        self._names: dict[cst.CSTNode, frozenset[str]] = {}
        if any(map(_GENERATED.search, self.lines[:_HEAD])):
            raise Refused("its file says that it is generated")
        try:
            self._wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        except cst.ParserSyntaxError as error:
            raise Refused(f"its file does not parse: line {error.raw_line}") from error
        except RecursionError as error:
            raise Refused("its file is nested too deeply to be parsed") from error
        self.module = self._wrapper.module
        self._positions = self._wrapper.resolve(PositionProvider)
        self._parents = {part: node for node in self.all(cst.CSTNode) for part in self._parts(node)}
        if self.module.code != text.removeprefix(MARK):
            raise Refused("its file has a form feed or the like where lines begin")
        self.refuse_unclear_names()

    def refuse_unclear_names(self) -> None:
        """Refuse a file in which a name may stand for something that is not seen."""
        for name in self.all(cst.Name):
            if (read := unicodedata.normalize("NFKC", name.value)) != name.value:
                line = self.begin(name).line
                raise Refused(f"Python reads `{name.value}` in line {line} as `{read}`")
        for star in self.all(cst.ImportStar):
            statement = self.parent(star)
            if statement is not None:
                code, line = self.code(statement), self.begin(statement).line
                raise Refused(f"`{code}` in line {line} may give any name another meaning")
        for call in self.calls_of(_REFLECTION, self.module):
            if not (call.args and self.code(call.func) == "vars"):
                code, line = self.code(call.func), self.begin(call).line
                raise Refused(f"`{code}(…)` in line {line} may use any variable")

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names that the file imports, wherever it does."""
        return frozenset(
            (alias.evaluated_alias or alias.evaluated_name).partition(".")[0]
            for alias in self.all(cst.ImportAlias)
        )

    @cached_property
    def methods(self) -> frozenset[str]:
        """The methods of all classes of the file."""
        return frozenset(each.name.value for each in self._methods())

    @cached_property
    def properties(self) -> frozenset[str]:
        """Those with decorators, which may run when they are only named."""
        return frozenset(each.name.value for each in self._methods() if each.decorators)

    def _methods(self) -> list[cst.FunctionDef]:
        classes = self.all(cst.ClassDef)
        return [each for class_ in classes for each in self.all(cst.FunctionDef, class_)]

    @cached_property
    def _scopes(self) -> dict[cst.CSTNode, Scope | None]:
        return cast(dict[cst.CSTNode, Scope | None], self._wrapper.resolve(ScopeProvider))

    # -- finding nodes ---------------------------------------------------------------------

    def all(
        self, kind: type[Node] | tuple[type[Node], ...], below: cst.CSTNode | None = None
    ) -> Iterator[Node]:
        """All nodes of a kind, outermost first."""
        pending = [below or self.module]
        while pending:
            node = pending.pop()
            if isinstance(node, kind):
                yield node
            pending += self._parts(node)

    def _parts(self, node: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
        """The nodes right below one, from the last; libcst finds them anew at each look."""
        found = self._children.get(node)
        if found is None:
            found = self._children[node] = tuple(reversed(node.children))
        return found

    def begin(self, node: cst.CSTNode) -> Position:
        """Where a node begins, without the comments above it."""
        at = self._positions[node].start
        return Position(at.line, at.column)

    def end(self, node: cst.CSTNode) -> Position:
        """Where it ends, the end exclusive."""
        at = self._positions[node].end
        return Position(at.line, at.column)

    def covers(self, node: cst.CSTNode, line: int) -> bool:
        """Whether a line is among those of a node."""
        return self.begin(node).line <= line <= self.end(node).line

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node around it; None for the module."""
        return self._parents.get(node)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around it, innermost first."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def statement(self, line: int) -> cst.SimpleStatementLine:
        """The simple statement on a line.

        Raises:
            Refused: there is none, or several on one line.
        """
        found = [each for each in self.all(cst.SimpleStatementLine) if self.covers(each, line)]
        if not found:
            raise Refused(f"line {line} is not a separate statement")
        if len(found[-1].body) != 1:
            raise Refused(f"line {line} has several statements")
        return found[-1]

    def loop(self, line: int) -> Loop:
        """The loop whose head is on a line.

        Raises:
            Refused: there is none, or it has no body of its own lines.
        """
        for loop in self.all(LOOPS):
            if self.begin(loop).line == line:
                body = cast(Loop, loop)
                if not isinstance(body.body, cst.IndentedBlock):
                    raise Refused(f"the loop in line {line} is on one line")
                return body
        raise Refused(f"no loop starts in line {line}")

    def loops_around(self, node: cst.CSTNode) -> list[Loop]:
        """The loops around a node in its own function, innermost first."""
        found: list[Loop] = []
        for above in self.around(node):
            if isinstance(above, SCOPES):
                break
            if isinstance(above, (cst.For, cst.While)):
                found.append(above)
        return found

    def loop_around(self, node: cst.CSTNode) -> Loop:
        """The innermost loop around a node in its own function.

        Raises:
            Refused: there is none, or it has no body of its own lines.
        """
        loops = self.loops_around(node)
        if not loops:
            raise Refused(f"no loop of its function is around line {self.begin(node).line}")
        return self.loop(self.begin(loops[0]).line)

    def loop_of(self, statement: cst.CSTNode, line: int) -> Loop:
        """The loop that a statement on a line is a statement of, not of a block in it.

        Raises:
            Refused: there is none.
        """
        loops = self.loops_around(statement)
        if not loops or self.parent(statement) is not loops[0].body:
            raise Refused(f"line {line} is not a statement of a loop itself")
        return loops[0]

    def only_call(self, statement: cst.SimpleStatementLine) -> cst.Call | None:
        """The call that a statement consists of, its result assigned or not."""
        part = statement.body[0]
        value = part.value if isinstance(part, (cst.Expr, cst.Assign, cst.AnnAssign)) else None
        return value if isinstance(value, cst.Call) else None

    def function_around(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function that a node is in; None at the top of the module.

        Raises:
            Refused: it is in a lambda.
        """
        for above in self.around(node):
            if isinstance(above, cst.Lambda):
                raise Refused("it is in a lambda")
            if isinstance(above, cst.FunctionDef):
                return above
        return None

    def owner(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Module:
        """The function that a node is in, or the module."""
        return self.function_around(node) or self.module

    def body_around(self, node: cst.CSTNode) -> Sequence[cst.CSTNode]:
        """The statements of the function or module that a node is in."""
        function = self.function_around(node)
        if function is None:
            return self.module.body
        if not isinstance(function.body, cst.IndentedBlock):
            raise Refused("its function is on one line")
        return function.body.body

    def calls_of(self, names: frozenset[str], below: cst.CSTNode) -> list[cst.Call]:
        """The calls of functions by their full names, as ``torch_xla.sync``; aliases are known."""
        return [call for call in self.all(cst.Call, below) if self.qualified(call.func) & names]

    def qualified(self, node: cst.CSTNode) -> frozenset[str]:
        """The full names that a name or attribute may have, as far as the file shows."""
        found = self._names.get(node)
        if found is None:
            scope = self.scope(node) if isinstance(node, (cst.Name, cst.Attribute)) else None
            names = scope.get_qualified_names_for(node) if scope is not None else ()
            found = self._names[node] = frozenset(name.name for name in names)
        return found

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """The scope that a node is in."""
        return self._scopes.get(node)

    def variables(self, below: cst.CSTNode) -> list[cst.Name]:
        """The names in a piece of code, other than those of attributes and keywords."""
        return [each for each in self.all(cst.Name, below) if not self._is_label(each)]

    def names_used(self, below: cst.CSTNode, name: str) -> list[cst.Name]:
        """Where a variable is named, other than as an attribute or keyword."""
        return [each for each in self.variables(below) if each.value == name]

    def assignments(self, name: cst.Name) -> list[cst.Name]:
        """Where a variable is set in the function or module that it is used in, other than as an
        argument.
        """
        return [
            each
            for each in self.names_used(self.owner(name), name.value)
            if self.is_bound_at(each) and not isinstance(self.parent(each), cst.Param)
        ]

    def bindings(self, name: cst.Name) -> list[cst.CSTNode]:
        """The places that may set what a variable holds where it is named here."""
        scope = self.scope(name)
        found = scope[name.value] if scope is not None else ()
        return [each.node for each in found if isinstance(each, Assignment)]

    def values_of(self, name: cst.Name) -> list[cst.BaseExpression | None]:
        """What a variable may hold: the values that it is assigned by itself, and None for each
        place that sets it otherwise.
        """
        found: list[cst.BaseExpression | None] = []
        for each in self.bindings(name):
            above = self.parent(each)
            assign = self.parent(above) if isinstance(above, cst.AssignTarget) else None
            is_single = isinstance(assign, cst.Assign) and len(assign.targets) == 1
            found.append(assign.value if is_single and isinstance(assign, cst.Assign) else None)
        return found

    def value_of(self, name: cst.Name) -> cst.BaseExpression | None:
        """What a variable holds; None if it is not assigned once, by itself."""
        found = self.values_of(name)
        return found[0] if len(found) == 1 else None

    def assigned(self, to: str, below: cst.CSTNode | None = None) -> list[cst.BaseExpression]:
        """The values that statements assign to a variable or attribute, by its text."""
        return [
            each.value
            for each in self.all(cst.Assign, below)
            if any(self.code(target.target) == to for target in each.targets)
        ]

    def is_bound_at(self, name: cst.CSTNode) -> bool:
        """Whether a variable or an element is set, deleted or declared where it is named here."""
        below = name
        for above in self.around(name):
            match above:
                case cst.Element() | cst.StarredElement() | cst.Tuple() | cst.List():
                    below = above
                    continue
                case (
                    cst.AssignTarget()
                    | cst.AugAssign()
                    | cst.AnnAssign()
                    | cst.For()
                    | cst.CompFor()
                    | cst.NamedExpr()
                    | cst.Del()
                ):
                    return above.target is below
                case cst.AsName() | cst.FunctionDef() | cst.ClassDef() | cst.Param():
                    return above.name is below
                case cst.ImportAlias(asname=None):
                    return True
                case cst.Attribute(value=value) if value is below:
                    alias = self.parent(above)
                    return isinstance(alias, cst.ImportAlias) and alias.asname is None
            return isinstance(above, _DECLARING)
        return False

    def _is_label(self, name: cst.Name) -> bool:
        above = self.parent(name)
        return (isinstance(above, cst.Attribute) and above.attr is name) or (
            isinstance(above, cst.Arg) and above.keyword is name
        )

    def names_bound(self, below: cst.CSTNode) -> set[str]:
        """The variables that a piece of code sets or changes by an assignment."""
        found = {each.value for each in self.variables(below) if self.is_bound_at(each)}
        for node in self.all(cst.CSTNode, below):
            match node:
                case (
                    cst.AssignTarget(target=target)
                    | cst.AugAssign(target=target)
                    | cst.AnnAssign(target=target)
                    | cst.For(target=target)
                    | cst.Del(target=target)
                ):
                    found |= {name.value for name in self.all(cst.Name, target)}
        return found

    def code(self, node: cst.CSTNode) -> str:
        """The text of a node."""
        return self.between(self.begin(node), self.end(node))

    def code_with(self, node: cst.CSTNode, part: cst.CSTNode, text: str) -> str:
        """The text of a node with another text for a part of it."""
        before = self.between(self.begin(node), self.begin(part))
        return before + text + self.between(self.end(part), self.end(node))

    def between(self, begin: Position, end: Position) -> str:
        """The text between two positions."""
        if begin.line == end.line:
            return self.lines[begin.line - 1][begin.column : end.column]
        first, *middle = self.lines[begin.line - 1 : end.line - 1]
        return "".join((first[begin.column :], *middle, self.lines[end.line - 1][: end.column]))

    def indentation(self, node: cst.CSTNode) -> str:
        """The white space in front of a statement."""
        at = self.begin(node)
        return self.lines[at.line - 1][: at.column]
