"""A source file as kinds of fixes look at it: its text, and its syntax tree with positions.

Kinds find nodes here, and describe what to change as edits of the text, so that whatever they do
not touch stays as it is, to the byte.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

import libcst as cst
from libcst.metadata import (
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    QualifiedNameProvider,
    Scope,
    ScopeProvider,
)

from xladoctor.fixes.interface import Edit, Position, Refused

Node = TypeVar("Node", bound=cst.CSTNode)
#: Loops, and the statements that begin a scope of their own.
LOOPS = (cst.For, cst.While)
SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.Module)
_GENERATED = re.compile(r"(?i)\b(?:do not edit|@generated|auto-?generated)\b")
_HEAD = 5  # lines in which a generated file says so


class Source:
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
        self.lines = text.splitlines(keepends=True)
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
        self._parents = self._wrapper.resolve(ParentNodeProvider)

    @cached_property
    def _scopes(self) -> dict[cst.CSTNode, Scope | None]:
        return cast(dict[cst.CSTNode, Scope | None], self._wrapper.resolve(ScopeProvider))

    @cached_property
    def _names(self) -> dict[cst.CSTNode, set[str]]:
        resolved = self._wrapper.resolve(QualifiedNameProvider)
        found: dict[cst.CSTNode, set[str]] = {}
        for node, names in resolved.items():
            given = names() if callable(names) else names
            found[node] = {name.name for name in given}
        return found

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
            pending += reversed(node.children)

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
            raise Refused(f"line {line} is not a statement of its own")
        if len(found[-1].body) != 1:
            raise Refused(f"line {line} has several statements")
        return found[-1]

    def loop(self, line: int) -> cst.For | cst.While:
        """The loop whose head is on a line.

        Raises:
            Refused: there is none, or it has no body of its own lines.
        """
        for loop in self.all(LOOPS):
            if self.begin(loop).line == line:
                body = cast(cst.For | cst.While, loop)
                if not isinstance(body.body, cst.IndentedBlock):
                    raise Refused(f"the loop in line {line} is on one line")
                return body
        raise Refused(f"no loop begins in line {line}")

    def loops_around(self, node: cst.CSTNode) -> list[cst.For | cst.While]:
        """The loops around a node in its own function, innermost first."""
        found: list[cst.For | cst.While] = []
        for above in self.around(node):
            if isinstance(above, SCOPES):
                break
            if isinstance(above, (cst.For, cst.While)):
                found.append(above)
        return found

    def loop_around(self, node: cst.CSTNode) -> cst.For | cst.While:
        """The innermost loop around a node in its own function.

        Raises:
            Refused: there is none, or it has no body of its own lines.
        """
        loops = self.loops_around(node)
        if not loops:
            raise Refused(f"no loop of its function is around line {self.begin(node).line}")
        return self.loop(self.begin(loops[0]).line)

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

    def qualified(self, node: cst.CSTNode) -> set[str]:
        """The full names that a name or attribute may have, as far as the file shows."""
        is_name = isinstance(node, (cst.Name, cst.Attribute))
        return self._names.get(node, set()) if is_name else set()

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
        scope = self.function_around(name) or self.module
        return [each for each in self.names_used(scope, name.value) if self._is_target(each)]

    def value_of(self, name: cst.Name) -> cst.BaseExpression | None:
        """What a variable is assigned there; None if that is not once, by itself."""
        found = self.assignments(name)
        above = self.parent(found[0]) if len(found) == 1 else None
        assigned = self.parent(above) if isinstance(above, cst.AssignTarget) else None
        return assigned.value if isinstance(assigned, cst.Assign) else None

    def _is_target(self, name: cst.Name) -> bool:
        below: cst.CSTNode = name
        for above in self.around(name):
            if below is getattr(above, "target", None):
                return True
            if isinstance(above, cst.AsName):
                return below is above.name
            below = above
        return False

    def _is_label(self, name: cst.Name) -> bool:
        above = self.parent(name)
        return (isinstance(above, cst.Attribute) and above.attr is name) or (
            isinstance(above, cst.Arg) and above.keyword is name
        )

    def names_bound(self, below: cst.CSTNode) -> set[str]:
        """The variables that a piece of code sets or changes by an assignment."""
        found = set[str]()
        for node in self.all(cst.CSTNode, below):
            match node:
                case (
                    cst.AssignTarget(target=target)
                    | cst.AugAssign(target=target)
                    | cst.AnnAssign(target=target)
                    | cst.For(target=target)
                    | cst.NamedExpr(target=target)
                    | cst.Del(target=target)
                    | cst.AsName(name=target)
                ):
                    found |= {name.value for name in self.all(cst.Name, target)}
                case cst.FunctionDef(name=name) | cst.ClassDef(name=name) | cst.Param(name=name):
                    found.add(name.value)
        return found

    def refuse_shadowed(self, module: str, node: cst.CSTNode) -> None:
        """Refuse code in a function that has a variable with the name of a module."""
        function, name = self.function_around(node), module.partition(".")[0]
        if function is not None and name in self.names_bound(function):
            raise Refused(f"`{name}` is a variable of {function.name.value}()")

    # -- describing edits ------------------------------------------------------------------

    def code(self, node: cst.CSTNode) -> str:
        """The text of a node."""
        return self.between(self.begin(node), self.end(node))

    def dedented(self, statement: cst.CSTNode, text: str = "") -> str:
        """The text of a statement, or what is to stand in its place, without its indentation."""
        return textwrap.dedent(self.indentation(statement) + (text or self.code(statement)))

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

    @property
    def newline(self) -> str:
        """How the file ends its lines."""
        return "\r\n" if self.text.find("\r\n") >= 0 else "\n"

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        """Replace a node."""
        return Edit(self.begin(node), self.end(node), text)

    def replace_part(self, statement: cst.CSTNode, node: cst.CSTNode, text: str) -> Edit:
        """Replace an expression of a simple statement, in parentheses if these are needed."""
        before = self.between(self.begin(statement), self.begin(node))
        after = self.between(self.end(node), self.end(statement))
        bare, enclosed = (_tree(f"{before}{each}{after}") for each in (text, f"({text})"))
        return self.replace(node, text if bare == enclosed else f"({text})")

    def insert_before(self, statement: cst.CSTNode, *code: str) -> Edit:
        """Insert lines in front of a statement, indented as it is."""
        at = Position(self.begin(statement).line, 0)
        return Edit(at, at, self._indented(code, self.indentation(statement)))

    def first_line(self, statement: cst.CSTNode) -> int:
        """The first line that belongs to a statement: its decorators, and comments right above."""
        decorators = getattr(statement, "decorators", ())
        line = self.begin(decorators[0] if decorators else statement).line
        indentation = self.indentation(statement)
        while line > 1 and self.lines[line - 2].startswith(f"{indentation}#"):
            line -= 1
        return line

    def insert_above(self, statement: cst.CSTNode, *code: str) -> Edit:
        """Insert lines above a statement and what belongs to it, indented as it is."""
        at = Position(self.first_line(statement), 0)
        return Edit(at, at, self._indented(code, self.indentation(statement)))

    def insert_function_above(self, statement: cst.CSTNode, *code: str) -> Edit:
        """The same for a function, with a blank line before and behind it."""
        first = self.first_line(statement)
        before = self.lines[first - 2].strip() if first > 1 else ""
        blank = [""] if before and not before.endswith(":") else []
        return self.insert_above(statement, *blank, *code, "")

    def cut(self, statement: cst.CSTNode) -> Edit:
        """Delete a statement with its decorators and the comments right above.

        Raises:
            Refused: nothing would be left of its block.
        """
        deleted = self.delete(statement)
        return Edit(Position(self.first_line(statement), 0), deleted.end, "")

    def insert_after(self, statement: cst.CSTNode, *code: str) -> Edit:
        """Insert lines behind a statement, indented as it is."""
        return self._insert_below(self.end(statement).line, self.indentation(statement), code)

    def append_to(self, body: cst.BaseSuite, *code: str) -> Edit:
        """Insert lines at the end of a block."""
        last = body.body[-1]
        return self._insert_below(self.end(last).line, self.indentation(last), code)

    def delete(self, statement: cst.CSTNode) -> Edit:
        """Delete the lines of a statement.

        Raises:
            Refused: nothing would be left of its block.
        """
        block = self.parent(statement)
        if isinstance(block, cst.IndentedBlock) and len(block.body) == 1:
            raise Refused("nothing else is in its block")
        begin, end = self.begin(statement).line, self.end(statement).line
        return Edit(Position(begin, 0), Position(end + 1, 0), "")

    def delete_argument(self, call: cst.Call, number: int) -> Edit:
        """Delete an argument of a call, with the comma between it and another."""
        args = call.args
        if number:
            before, own = args[number - 1].value, args[number].value
            return Edit(self._end_of_parentheses(before), self._end_of_parentheses(own), "")
        if len(args) > 1:
            return Edit(self.begin(args[0]), self.begin(args[1]), "")
        return Edit(self.end(call.func), self.end(call), "()")

    def _end_of_parentheses(self, node: cst.BaseExpression) -> Position:
        return self.end(node.rpar[-1] if node.rpar else node)

    def _insert_below(self, line: int, indentation: str, code: Sequence[str]) -> Edit:
        text = self._indented(code, indentation)
        if line == len(self.lines) and not self.lines[-1].endswith(("\n", "\r")):
            at = Position(line, len(self.lines[-1]))
            return Edit(at, at, self.newline + text.removesuffix(self.newline))
        at = Position(line + 1, 0)
        return Edit(at, at, text)

    def _indented(self, code: Sequence[str], indentation: str) -> str:
        whole = textwrap.indent("\n".join(code) + "\n", indentation)
        return whole.replace("\n", self.newline)

    def add_argument(self, call: cst.Call, text: str) -> Edit:
        """Add a keyword argument as a call's last one, on a line of its own if that one is.

        Raises:
            Refused: it is given already, or may be among those that a star hides.
        """
        keyword = text.partition("=")[0]
        if any(arg.star for arg in call.args):
            raise Refused(f"its arguments are not all written out, so `{keyword}` may be given")
        if any(arg.keyword and arg.keyword.value == keyword for arg in call.args):
            raise Refused(f"`{keyword}` is given already")
        if not call.args:
            at = Position(self.end(call).line, self.end(call).column - 1)
            return Edit(at, at, text)
        last = call.args[-1]
        begin, at = self.begin(last), self.end(last)  # without its comma
        before = self.lines[begin.line - 1][: begin.column]
        if before.strip() or begin.line == self.begin(call).line:
            return Edit(at, at, f", {text}")
        return Edit(at, at, f",{self.newline}{before}{text}")

    def import_of(self, module: str) -> tuple[str, tuple[Edit, ...]]:
        """How the file names a module, and the edits that import it if it does not yet."""
        for statement in self.module.body:
            if not isinstance(statement, cst.SimpleStatementLine):
                continue
            for each in statement.body:
                if isinstance(each, cst.Import):
                    for alias in each.names:
                        if self.code(alias.name) == module:
                            name = alias.evaluated_alias or module
                            return name, ()
                        if self.code(alias.name).startswith(f"{module}.") and not alias.asname:
                            return module, ()
        return module, (self.insert_import(f"import {module}"),)

    def insert_import(self, line: str) -> Edit:
        """Add an import below the file's last import at the top, or below its docstring."""
        last: cst.CSTNode | None = None
        for number, statement in enumerate(self.module.body):
            if not isinstance(statement, cst.SimpleStatementLine):
                break
            if isinstance(statement.body[0], (cst.Import, cst.ImportFrom)):
                last = statement
            elif number or not isinstance(statement.body[0], cst.Expr):
                break
            else:
                last = statement
        if last is None:
            at = Position(1, 0)
            return Edit(at, at, line + self.newline)
        return self.insert_after(last, line)


def _tree(statement: str) -> str:
    """The tree of a statement, which may return, yield or await."""
    inside = statement.replace("\n", "\n  ")
    return ast.dump(ast.parse(f"async def f():\n  {inside}"))
