"""A source file as kinds of fixes look at it: its text, and its syntax tree with positions.

Kinds find nodes here, and describe what to change as edits of the text, so that whatever they do
not touch stays as it is, to the byte.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

import libcst as cst
from libcst.metadata import ImportAssignment, QualifiedName, QualifiedNameSource

from xladoctor.fixes.interface import Edit, Position, Refused
from xladoctor.fixes.text import indented
from xladoctor.fixes.tree import LOOPS, SCOPES, SOMETIMES, Loop, Node, Tree

__all__ = [
    "LOOPS",
    "SCOPES",
    "SOMETIMES",
    "Loop",
    "Node",
    "Source",
    "argument",
    "called",
    "keyword",
    "method_of",
]


class Source(Tree):
    """A file that was parsed, and what may become of its text."""

    def dedented(self, statement: cst.CSTNode, text: str = "") -> str:
        """The text of a statement, or what is to stand in its place, without its indentation."""
        self.refuse_long_strings(statement)
        return textwrap.dedent(self.indentation(statement) + (text or self.code(statement)))

    def refuse_long_strings(self, node: cst.CSTNode) -> None:
        """Refuse code with a string of several lines, which another indentation would change."""
        for each in self.all((cst.SimpleString, cst.FormattedString), node):
            if self.begin(each).line != self.end(each).line:
                raise Refused(f"line {self.begin(each).line} has a string of several lines")

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
        return Edit(*self.whole_lines(statement), "")

    def whole_lines(self, statement: cst.CSTNode) -> tuple[Position, Position]:
        """Where the lines of a statement begin, and where those below it do."""
        return Position(self.begin(statement).line, 0), Position(self.end(statement).line + 1, 0)

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
        whole = indented("\n".join(code) + "\n", indentation)
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
            raise Refused(f"`{keyword}` is already given")
        if not call.args:
            at = Position(self.end(call).line, self.end(call).column - 1)
            return Edit(at, at, text)
        last = call.args[-1]
        begin, at = self.begin(last), self.end(last)  # without its comma
        before = self.lines[begin.line - 1][: begin.column]
        if before.strip() or begin.line == self.begin(call).line:
            return Edit(at, at, f", {text}")
        return Edit(at, at, f",{self.newline}{before}{text}")

    def import_of(self, module: str, at: cst.CSTNode | None = None) -> tuple[str, tuple[Edit, ...]]:
        """How the file names a module, and the edits that import it if it does not yet.

        Args:
            at: where it is to be named; by default, in the module itself.

        Raises:
            Refused: its name stands for something else there.
        """
        candidates = list[str]()
        for alias in self.all(cst.ImportAlias):
            given = self._module_of(alias)
            if given == module or (given.startswith(f"{module}.") and not alias.asname):
                candidates.append(alias.evaluated_alias or module)
        for name in dict.fromkeys(candidates):
            if self._meanings(at, name) == {module}:
                return name, ()
        root = module.partition(".")[0]
        if any(
            self.is_bound_at(each)
            and not isinstance(self.parent(each), (cst.ImportAlias, cst.Attribute))
            for each in self.names_used(self.module, root)
        ):
            raise Refused(f"`{root}` is a name of the program")
        return module, (self.insert_import(f"import {module}"),)

    def _module_of(self, alias: cst.ImportAlias) -> str:
        """The full name of what is imported."""
        statement, name = self.parent(alias), self.code(alias.name)
        if not isinstance(statement, cst.ImportFrom):
            return name
        module = statement.module
        return f"{self.code(module)}.{name}" if module and not statement.relative else ""

    def _meanings(self, at: cst.CSTNode | None, name: str) -> set[str]:
        """What a name stands for at a place: modules, or an empty text for anything else."""
        scope = self.scope(at or self.module.body[0])
        bound = scope[name.partition(".")[0]] if scope is not None else set()
        return {
            full.name
            for each in bound
            for full in (
                each.get_qualified_names_for(name)
                if isinstance(each, ImportAssignment)
                else [QualifiedName("", QualifiedNameSource.LOCAL)]
            )
        }

    def insert_import(self, line: str) -> Edit:
        """Add an import below those of the same package or the first ones of the file, or below
        what has to be its beginning.
        """
        package = line.split()[1].partition(".")[0]
        last: cst.CSTNode | None = None
        is_first = True
        for number, statement in enumerate(self.module.body):
            imports = isinstance(statement, cst.SimpleStatementLine) and isinstance(
                statement.body[0], (cst.Import, cst.ImportFrom)
            )
            if imports and (is_first or self._imports(statement, package)):
                last = statement
            elif not imports and (number or not _is_text(statement)):
                is_first = False
            elif not imports:
                last = statement
        if last is not None:
            return self.insert_after(last, line)
        first = self.module.body[0]  # below the comments at the file's beginning
        at = Position(self.begin(next(iter(getattr(first, "decorators", ())), first)).line, 0)
        return Edit(at, at, line.replace("\n", self.newline) + self.newline)

    def _imports(self, statement: cst.CSTNode, package: str) -> bool:
        names = (self._module_of(alias) for alias in self.all(cst.ImportAlias, statement))
        return any(name.partition(".")[0] == package for name in names)


def _is_text(statement: cst.CSTNode) -> bool:
    """Whether a statement is but a text, as the one that documents a module."""
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.BaseString()), *_]):
            return True
    return False


def _tree(statement: str) -> str:
    """The tree of a statement, which may return, yield or await."""
    inside = statement.replace("\n", "\n  ")
    return ast.dump(ast.parse(f"async def f():\n  {inside}"))


def called(node: cst.BaseExpression) -> str:
    """The last part of a call's name: ``item`` in ``loss.item()``; empty if it is no call."""
    match node:
        case cst.Call(func=cst.Name(name) | cst.Attribute(attr=cst.Name(name))):
            return name
    return ""


def method_of(call: cst.Call) -> str:
    """The name of the method that is called; empty if it is no attribute."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def keyword(arg: cst.Arg) -> str:
    """The name by which an argument is given; empty if it is given by its place."""
    return arg.keyword.value if arg.keyword else ""


def argument(call: cst.Call, name: str, place: int | None = None) -> cst.BaseExpression | None:
    """An argument of a call, by its keyword or at a place; None if it is not given so."""
    for number, arg in enumerate(call.args):
        if keyword(arg) == name or (number == place and not arg.keyword):
            return arg.value
    return None
