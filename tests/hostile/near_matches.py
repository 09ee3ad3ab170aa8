"""The regular expressions of the package, and texts that almost match each of them.

The texts are made from an expression's own parse tree: a part of what matches, repeated, before
something that does not. An expression that tries each beginning with each end takes time that
grows with the square of such a text.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import xladoctor

ROOT = Path(xladoctor.__file__).parent
_ANYWHERE = frozenset({"search", "findall", "finditer", "sub", "subn", "split"})
_WHOLE = frozenset({"match", "fullmatch"})
_PATHS = 4  # through alternatives
_MOST_PARTS = 24
_CATEGORIES = {
    op.CATEGORY_DIGIT: "1",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_WORD: "-",
}


class Expression(NamedTuple):
    """A regular expression of the package.

    Attributes:
        name: where it stands.
        uses: the methods by which it is used.
    """

    name: str
    pattern: re.Pattern[Any]
    uses: frozenset[str]


def expressions() -> list[Expression]:
    """All expressions that are compiled at import, or written in a call of ``re``."""
    found: dict[re.Pattern[Any], Expression] = {}
    everywhere = _uses(list(ROOT.rglob("*.py")))
    for file in sorted(ROOT.rglob("*.py")):
        if file.stem in ("__main__", "sitecustomize"):
            continue
        name = ".".join((xladoctor.__name__, *file.relative_to(ROOT).with_suffix("").parts))
        module = importlib.import_module(name.removesuffix(".__init__"))
        uses = everywhere | _uses([file])
        for variable, value in vars(module).items():
            for pattern in _patterns(value):
                how = frozenset(uses.get(variable, _ANYWHERE))
                found.setdefault(pattern, Expression(f"{name}.{variable}", pattern, how))
        for node in ast.walk(_tree(file)):
            if (called := _literal_call(node)) is not None:
                pattern, method = called
                where = f"{name}:{node.lineno}"  # type: ignore[attr-defined]
                found.setdefault(pattern, Expression(where, pattern, frozenset({method})))
    return list(found.values())


def near_matches(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """What comes before, what is repeated, and what comes after it."""
    seen = set()
    for path in range(_PATHS):
        parts = list(_parts(_parser.parse(pattern.pattern, pattern.flags), path))[:_MOST_PARTS]
        for first in range(len(parts)):
            for last in range(first + 1, len(parts) + 1):
                pumped = "".join(parts[first:last])
                for after in ("", "\x00", "\n"):
                    text = "".join(parts[:first]), pumped, after
                    if pumped and text not in seen:
                        seen.add(text)
                        yield text


def matching(pattern: str) -> str:
    """A text that an expression without references matches."""
    return "".join(_parts(_parser.parse(pattern), 0))


def _parts(tree: Any, path: int) -> Iterator[str]:
    """Samples of the parts of an expression, in order; ``path`` chooses alternatives."""
    for kind, value in tree:
        if kind is op.LITERAL:
            yield chr(value)
        elif kind is op.NOT_LITERAL:
            yield "a" if value != ord("a") else "b"
        elif kind is op.ANY:
            yield "a"
        elif kind is op.IN:
            yield _of_set(value, path)
        elif kind is op.BRANCH:
            yield from _joined(value[1][path % len(value[1])], path)
        elif kind is op.SUBPATTERN:
            yield from _joined(value[3], path)
        elif kind is op.ATOMIC_GROUP:
            yield from _joined(value, path)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            least, _, body = value
            yield "".join(_parts(body, path)) * max(1, min(least, 3))


def _joined(tree: Any, path: int) -> Iterator[str]:
    """The parts, literals that follow each other as one."""
    literal = ""
    for item in tree:
        if item[0] is op.LITERAL:
            literal += chr(item[1])
            continue
        if literal:
            yield literal
            literal = ""
        yield from _parts([item], path)
    if literal:
        yield literal


def _of_set(items: Any, path: int) -> str:
    """A character of a set, or one that a negated set allows."""
    if items[0][0] is op.NEGATE:
        return next(each for each in "a1 .\x00" if not _in_set(each, items[1:]))
    kind, value = items[path % len(items)]
    if kind is op.CATEGORY:
        return _CATEGORIES[value]
    return chr(value[0] if kind is op.RANGE else value)


def _in_set(character: str, items: Any) -> bool:
    code = ord(character)
    return any(
        (kind is op.LITERAL and value == code)
        or (kind is op.RANGE and value[0] <= code <= value[1])
        or (kind is op.CATEGORY and _CATEGORIES[value] == character)
        for kind, value in items
    )


def _patterns(value: Any, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | tuple | list | frozenset) and depth < 3:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _patterns(item, depth + 1)


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def _uses(files: list[Path]) -> dict[str, set[str]]:
    """The methods by which the variables of files are used, by name."""
    uses: dict[str, set[str]] = {}
    for file in files:
        for node in ast.walk(_tree(file)):
            if (
                isinstance(node, ast.Attribute)
                and node.attr in _ANYWHERE | _WHOLE
                and isinstance(node.value, ast.Name | ast.Attribute)
            ):
                name = ast.unparse(node.value).rpartition(".")[2]
                uses.setdefault(name, set()).add(node.attr)
    return uses


def _literal_call(node: ast.AST) -> tuple[re.Pattern[Any], str] | None:
    """The expression of ``re.search("…", …)``, and the method."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return None
    called, first = node.func, node.args[0]
    of_re = isinstance(called.value, ast.Name) and called.value.id == "re"
    if not (of_re and called.attr in _ANYWHERE | _WHOLE and isinstance(first, ast.Constant)):
        return None
    return re.compile(first.value), called.attr
