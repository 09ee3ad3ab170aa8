"""How a value reaches a program that is started with another one."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from xladoctor.errors import XladoctorError
from xladoctor.tpu_check.ladder import with_constants
from xladoctor.tpu_check.ladder.with_constants import assignments

RUNNER = with_constants.__file__
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})")
_MOST = 100_000  # values of a range


class VaryError(XladoctorError):
    """A value that cannot be varied as asked."""


@dataclass(frozen=True, slots=True)
class Variation:
    """What is varied.

    Attributes:
        values: as they were written; those that are numbers from the smallest to the largest.
        ordered: whether they are numbers.
    """

    name: str
    values: tuple[str, ...]
    ordered: bool


def parse(text: str) -> Variation:
    """``batch_size=1,2,4``, ``batch_size=1..64`` or ``remat=none,full``. Raises VaryError."""
    name, _, listed = text.partition("=")
    values = [*dict.fromkeys(each.strip() for each in listed.split(","))]
    if found := _RANGE.fullmatch(listed):
        first, last = int(found[1]), int(found[2])
        values = [str(each) for each in range(first, min(last, first + _MOST) + 1)]
    if not name.isidentifier() or not values or not all(values):
        raise VaryError(f"--vary {text}: expected something like batch_size=1,2,4 or 1..64")
    ordered = all(map(_is_number, values))
    return Variation(name, tuple(sorted(values, key=float) if ordered else values), ordered)


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Way:
    """How a value reaches a program.

    Attributes:
        spelling: of the placeholder, the option, the variable or the constant.
    """

    how: Literal["placeholder", "option", "appended", "environment", "constant"]
    spelling: str

    def __str__(self) -> str:
        return {
            "placeholder": f"in place of {self.spelling}",
            "option": f"with the option {self.spelling}",
            "appended": f"with the option {self.spelling}, which the script declares",
            "environment": f"in the environment variable {self.spelling}",
            "constant": f"as the constant {self.spelling} of the script",
        }[self.how]


@dataclass(frozen=True, slots=True)
class Program:
    """A command, and what it is started with besides.

    Attributes:
        constants: of the script, with the code of their values.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> tuple[str, ...]:
        """What is started: if constants are replaced, what does that before the script."""
        at = _script_at(self.words)
        if not self.constants or at is None:
            return self.words
        pairs = [f"{name}={value}" for name, value in self.constants.items()]
        return (*self.words[:at], RUNNER, *pairs, "--", *self.words[at:])

    @property
    def script(self) -> str:
        """The script, else the first word."""
        return self.words[_script_at(self.words) or 0]

    def text(self) -> str:
        """The source of the script or module; empty if it is not found."""
        at = _script_at(self.words)
        files = [Path(self.words[at])] if at is not None else []
        if "-m" in self.words[:-1]:
            module = Path(self.words[self.words.index("-m") + 1].replace(".", "/"))
            files += [module.with_suffix(".py"), module / "__main__.py"]
        return next((each.read_text("utf-8", "replace") for each in files if each.is_file()), "")

    def given(self, way: Way, name: str, value: str) -> Program:
        """The program with that value."""
        match way.how:
            case "placeholder":
                words = (each.replace(way.spelling, value) for each in self.words)
                return replace(self, words=tuple(words))
            case "option":
                return replace(self, words=_with_option(self.words, name, value))
            case "appended":
                return replace(self, words=(*self.words, f"{way.spelling}={value}"))
            case "environment":
                return replace(self, environment={**self.environment, way.spelling: value})
            case "constant":
                return replace(self, constants={**self.constants, way.spelling: value})


def program(words: Sequence[str]) -> Program:
    """The program of a command; a script that is no command is run by this interpreter."""
    is_script = words[0].endswith(".py")
    return Program((sys.executable, *words) if is_script else tuple(words))


def way_of(started: Program, name: str) -> Way:
    """How a program can be given a value of that name.

    Raises:
        VaryError: it is not seen to take it.
    """
    if any(f"{{{name}}}" in word for word in started.words):
        return Way("placeholder", f"{{{name}}}")
    if option := next((found[1] for _, found in _options(started.words, name)), None):
        return Way("option", option)
    text = started.text()
    spelled = "|".join({re.escape(name), re.escape(name.replace("_", "-"))})
    if declared := re.search(rf"""["'](--(?:{spelled}))["'/ ]""", text):
        return Way("appended", declared[1])
    if declared := re.search(rf"""\bDEFINE_\w+\(\s*["']({spelled})["']""", text):
        return Way("appended", f"--{declared[1]}")
    names = f"{name}|{name.upper()}"
    read = rf"""\b(?:environ(?:\.get\(|\.setdefault\(|\[)|getenv\()\s*["']({names})["']"""
    if variable := re.search(read, text):
        return Way("environment", variable[1])
    known = _constants(text) if _script_at(started.words) is not None else set()
    if constant := next((each for each in (name, name.upper()) if each in known), None):
        return Way("constant", constant)
    raise VaryError(
        f"the program is not seen to take {name}",
        f"write {{{name}}} where its value stands in the command, or give the script an option"
        f" --{name}, an environment variable {name.upper()}, or a line {name} = … at its top level",
    )


def _options(words: Sequence[str], name: str) -> list[tuple[int, re.Match[str]]]:
    """Where words are the option, alone or with its value, such as ``train.batch_size=8``."""
    spelled = "[-_]".join(map(re.escape, name.split("_")))
    pattern = re.compile(rf"((?:--?)?(?:[\w-]+\.)*{spelled})(=.*)?", re.DOTALL)
    found = [(number, pattern.fullmatch(word)) for number, word in enumerate(words)]
    return [
        (number, match)
        for number, match in found
        if match and (match[2] or (match[1].startswith("-") and number + 1 < len(words)))
    ]


def _with_option(words: Sequence[str], name: str, value: str) -> tuple[str, ...]:
    changed = [*words]
    for number, match in _options(words, name):
        if match[2]:
            changed[number] = f"{match[1]}={value}"
        else:
            changed[number + 1] = value
    return tuple(changed)


def _script_at(words: Sequence[str]) -> int | None:
    """Where the script stands in a command."""
    scripts = (number for number, word in enumerate(words) if word.endswith(".py"))
    return next((number for number in scripts if Path(words[number]).is_file()), None)


def _constants(text: str) -> set[str]:
    """The names that a script gives values at its top level."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return set()
    return {name for name, _ in assignments(body)}
