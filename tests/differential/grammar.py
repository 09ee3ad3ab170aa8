"""Programs from a grammar: templates, and for each ``$name`` in them the texts that it may be.

Alternatives are separated by ``|``; ``3*`` before one makes it three times as likely, and alone
stands for nothing. A line that is one name becomes the lines of its text, or none. A name is the
same text wherever it stands in a program, unless it is in capitals. Marks (``#!``) are those of
``tests/fixes/harness.py``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.differential.judge import Program
from tests.fixes.harness import FILE, case
from xladoctor.fixes.case import Case
from xladoctor.fixes.source import Source

_NAME = re.compile(r"\$(\w+)")
_WEIGHT = re.compile(r"(\d+)\*\s*(.*)", re.DOTALL)
#: Names whose text depends on the rest of the program.
_LATE = ("STARTS", "SHOWN", "MODULE", "MARK")
Rules = dict[str, str]


class Need(NamedTuple):
    """What a word of a program needs.

    Attributes:
        start: a statement before the loop.
        shown: what the program returns of it.
        module: a line of the module.
    """

    start: str = ""
    shown: str = ""
    module: str = ""


NEEDS = {
    "buffer": Need("buffer = np.zeros(4, np.float32)", "buffer"),
    "cache": Need("cache = {1: 2}", "cache"),
    "count": Need("count = Count()", "count.number"),
    "counted": Need(
        "", "CALLS", "CALLS = []\n\n\ndef counted():\n    CALLS.append(1)\n    return True\n"
    ),
    "draws": Need("draws = []", "draws"),
    "file": Need("file = open('out.txt', 'a', buffering=1)"),
    "kept": Need("kept = []", "kept"),
    "log": Need("log = logging.getLogger('train')", "", "import logging"),
    "meter": Need("meter = Meter()", "meter"),
    "numbers": Need("numbers = iter(range(99))", "next(numbers)"),
    "queue": Need("queue = names()", "queue.qsize()"),
    "random": Need(module="import random"),
    "steps": Need("steps = list(range(9))", "steps"),
    "table": Need("table = torch.zeros(3, device=device)", "table"),
    "bar": Need("bar = Bar(data)"),
    "views": Need("views = []", "views"),
    "xm": Need(module="import torch_xla.core.xla_model as xm"),
}


@dataclass(frozen=True)
class Kind:
    """How programs for a kind of fix are made.

    Attributes:
        declared: what a patch that says how it behaves may change, see :class:`Program`.
        cause: of the finding; given the rules and the texts that were chosen.
        needs: words that need something.
    """

    rules: Rules
    frontends: str = "torch_xla"
    counts: tuple[int, ...] = (4, 4, 11, 2, 1, 0)
    declared: Mapping[str, str] = field(default_factory=dict)
    cause: Callable[[Mapping[str, str]], dict[str, Any]] = lambda _: {}
    needs: Mapping[str, Need] = field(default_factory=lambda: NEEDS)

    def program(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Program:
        """Any program."""
        frontend = draw(st.sampled_from(alternatives(self.frontends)))
        expansion = _Expansion(draw, self.rules, frontend)
        code = expansion.part("program")
        needed = [need for word, need in self.needs.items() if re.search(rf"\b{word}\b", code)]
        shown = [
            expansion.part("shown"),
            expansion.part("always"),
            *(need.shown for need in needed),
        ]
        has_mark = "#! barrier" in code or frontend == "jax"
        late = {
            "STARTS": "\n".join(filter(None, (need.start for need in needed))),
            "MODULE": "\n".join(filter(None, (need.module for need in needed))),
            "SHOWN": ", ".join(filter(None, shown)),
            "MARK": "" if has_mark else f"  #! {self.rules.get('mark', 'unbarred')}",
        }
        marked = fill(code, late.__getitem__) + "\n"
        cause = partial(self.cause, expansion.parts)
        disguise = draw(st.sampled_from(_DISGUISES))
        count = draw(st.sampled_from(self.counts)) if self.counts else 0

        def made() -> Case:
            given = case(marked, frontend, **cause())
            if disguise is str:
                return given
            return replace(given, source=Source(FILE, disguise(given.source.text)))

        return Program(disguise(marked), made, count, self.declared)


class _Expansion:
    """The texts that were chosen for the names of a program."""

    def __init__(self, draw: Callable[..., Any], rules: Rules, frontend: str) -> None:
        self._draw = draw
        self._rules = rules
        self._frontend = frontend
        self.parts: dict[str, str] = {}

    def text(self, template: str) -> str:
        """A template with all names but the late ones replaced."""
        return fill(template, self.part)

    def part(self, name: str) -> str:
        """The text of a name."""
        if name in _LATE:
            return f"${name}"
        if name not in self.parts or name.isupper():
            rule = self._rules.get(f"{name}_{self._frontend}", self._rules.get(name, ""))
            self.parts[name] = self.text(self._draw(st.sampled_from(alternatives(rule))))
        return self.parts[name]


@cache
def alternatives(rule: str) -> tuple[str, ...]:
    """The texts that a rule allows, as often as they are likely."""
    if "|" not in rule:
        rule = textwrap.dedent(rule)
    found: list[str] = []
    for each in rule.split("|"):
        weight = _WEIGHT.fullmatch(each.strip())
        found += [weight[2]] * int(weight[1]) if weight else [each.strip()]
    return tuple(found)


def fill(template: str, part: Callable[[str], str]) -> str:
    """A template with each of its names replaced."""
    lines = []
    for line in template.split("\n"):
        whole = _NAME.fullmatch(line.strip())
        text = part(whole[1]) if whole else _NAME.sub(lambda found: part(found[1]), line)
        if whole and text:
            text = textwrap.indent(text, line[: line.index("$")])
        if text or not whole:
            lines.append(text)
    return "\n".join(lines)


# -- disguises, which Python reads alike -----------------------------------------------------


def _windows(text: str) -> str:
    return text.replace("\n", "\r\n")


def _tabs(text: str) -> str:
    return text.replace("    ", "\t")


def _feeds(text: str) -> str:
    return re.sub(r"^import \w+$", "\\g<0>  # a\x0cb\u2028c", text, count=1, flags=re.MULTILINE)


def _micro(text: str) -> str:
    """The sign and the letter are one identifier."""
    first, *rest = re.split(r"\btotal\b", text)
    return f"{first}µ{'μ'.join(rest)}" if rest else text


_DISGUISES = (*[str] * 10, _windows, _tabs, _feeds, _micro)
