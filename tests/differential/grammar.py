"""The grammar of generated programs: statements around a template, and what is around a loop.

A template is a text in which a line ``$name`` stands for statements, and ``$name`` within a line
for a part of it. Marks (``#!``) are those of ``tests/fixes/harness.py``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from string import Template
from typing import Any

from hypothesis import strategies as st

from tests.differential.judge import Program
from tests.fixes.harness import FILE, case
from xladoctor.fixes.source import Source

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True)
class Effect:
    """A statement that may stand anywhere, and what it needs.

    Attributes:
        start: what has to be set before the loop.
        shown: what it changes, for the program to return.
        helper: a definition of the module.
    """

    code: str
    start: str = ""
    shown: str = ""
    helper: str = ""
    imports: str = ""


@dataclass
class Text:
    """A program that is being put together."""

    draw: Draw
    imports: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def one_of(self, *choices: Any) -> Any:
        """Any of these."""
        return self.draw(st.sampled_from(choices))

    def pick(self, choices: str) -> str:
        """Any of these, which ``|`` separates."""
        return str(self.one_of(*(each.strip() for each in choices.split("|"))))

    def maybe(self, choices: str, nothing: int) -> str:
        """Any of these, or nothing, which is as likely as so many of them."""
        return self.pick("|" * nothing + choices)

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return bool(self.draw(st.integers(0, one_in - 1)) == one_in - 1)

    def effect(self, pool: Sequence[Effect], one_in: int) -> str:
        """A statement of a pool, or none."""
        if not self.chance(one_in):
            return ""
        effect = self.draw(st.sampled_from(pool))
        for listed, each in (
            (self.imports, effect.imports),
            (self.helpers, effect.helper),
            (self.starts, effect.start),
            (self.shown, effect.shown),
        ):
            if each and each not in listed:
                listed.append(each)
        return str(effect.code)


def fill(template: str, **parts: str) -> str:
    """A template with its parts; a line that is one part becomes its lines, or none."""
    lines = []
    for line in textwrap.dedent(template).strip("\n").splitlines():
        bare = line.strip()
        if bare.startswith("$") and bare[1:] in parts:
            text = parts[bare[1:]]
            if text:
                lines.append(textwrap.indent(text, line[: len(line) - len(bare)]))
        else:
            lines.append(Template(line).safe_substitute(parts))
    return "\n".join(lines)


def placed(text: Text, body: str, imports: Sequence[str], places: Sequence[str] = ()) -> str:
    """A program whose body is in a function, a method, the module, …; ``result`` is what it
    returns.
    """
    body = fill(body, starts="\n".join(text.starts))
    shown = f"({', '.join(text.shown)},)"
    place = text.one_of(*(places or ("function", "module", "function", "method", "generator")))
    returned = f"{body}\nreturn {shown}"
    if place == "module":
        code = f"{body}\nresult = {shown}"
    elif place == "method":
        inner = textwrap.indent(f"def train(self):\n{textwrap.indent(returned, '    ')}", "    ")
        code = f"class Trainer:\n{inner}\n\n\nresult = Trainer().train()"
    elif place == "generator":
        code = f"def train():\n{textwrap.indent(body, '    ')}\n    yield {shown}"
        code += "\n\n\nresult = list(train())"
    else:
        code = f"def train():\n{textwrap.indent(returned, '    ')}\n\n\nresult = train()"
    head = [*imports, *text.imports]
    return "\n".join([*head, *text.helpers, "", code])


#: What stands around a loop; ``$shown`` is a variable that it changes.
AROUND = (
    "$loop",
    "$loop",
    "$loop",
    "if True:\n    $loop",
    "for epoch in range(2):\n    $loop",
    "try:\n    $loop\nexcept ValueError as error:\n    print('failed', error)",
    "try:\n    $loop\nfinally:\n    print('over', $shown)",
    "while True:\n    $loop\n    break",
)


def program(
    text: Text,
    code: str,
    frontend: str,
    count: int,
    declared: Sequence[str] = (),
    rule: str = "XD000",
    **cause: Any,
) -> Program:
    """The program of a marked text, perhaps in a disguise that Python reads alike."""
    given = case(code, frontend, rule, **cause)
    disguise = text.one_of(*DISGUISES)
    if disguise is not _plain:
        given = replace(given, source=Source(FILE, disguise(given.source.text)))
    return Program(given, count, frozenset(declared))


def _plain(text: str) -> str:
    return text


def _windows(text: str) -> str:
    return text.replace("\n", "\r\n")


def _tabs(text: str) -> str:
    return text.replace("    ", "\t")


def _feeds(text: str) -> str:
    return re.sub(r"^import \w+$", "\\g<0>  # a\x0cb\u2028c", text, count=1, flags=re.MULTILINE)


DISGUISES = (*([_plain] * 9), _windows, _tabs, _feeds)
