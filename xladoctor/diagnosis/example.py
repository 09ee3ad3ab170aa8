"""A rule's example: code that triggers it, and the same code fixed.

A rule has it as text, or names a pair of programs in ``examples/``, which the tests run: of these
it is what tells the healed one from the sick one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib import resources
from pathlib import Path
from textwrap import dedent
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Tag

_IMPORTS = ("import ", "from ")


class Example(BaseModel):
    """Code that triggers the rule, and the same code fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    before: str
    after: str


def _known_pair(name: str) -> str:
    if not re.fullmatch(r"\w+(/\w+)?", name) or not all(path.is_file() for path in _pair(name)):
        raise ValueError("no pair of programs in examples/ has this name")
    return name


#: An example, or the name of a pair of programs that has it, such as ``scalar_read``. An
#: empty tag is no part of the place of a fault.
ExampleOrPair = Annotated[
    Annotated[Example, Tag("")] | Annotated[str, AfterValidator(_known_pair), Tag("pair")],
    Discriminator(lambda given: "pair" if isinstance(given, str) else ""),
]


def _pair(name: str) -> tuple[Path, Path]:
    """The sick and the healed program of this name: inside the package in a wheel, beside it in a
    checkout.
    """
    package = Path(str(resources.files("xladoctor")))
    inside = package / "examples"
    folder = inside if inside.is_dir() else package.parent / "examples"
    return folder / f"{name}.py", folder / f"{name}_healed.py"


@cache
def of_pair(name: str) -> Example:
    """The lines by which a pair of programs differs, with a line around; ``...`` for those between.

    Raises:
        OSError: there is no such pair.
    """
    before, after = (_code(path.read_text(encoding="utf-8")) for path in _pair(name))
    parts = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(1)
    changed = [
        (
            _part(before, [(tag, i1, i2) for tag, i1, i2, _, _ in part]),
            _part(after, [(tag, j1, j2) for tag, _, _, j1, j2 in part]),
        )
        for part in parts
    ]
    sick, healed = ("\n...\n".join(filter(None, texts)) for texts in zip(*changed, strict=True))
    return Example(before=f"{sick}\n", after=f"{healed}\n")


def _code(text: str) -> list[str]:
    """The lines below the module's docstring."""
    first = ast.parse(text).body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return text.splitlines()[first.end_lineno if is_docstring else 0 :]


def _part(lines: Sequence[str], runs: Sequence[tuple[str, int, int]]) -> str:
    """The lines of some runs, without imports that are in both programs."""
    kept = [
        line
        for tag, begin, end in runs
        for line in lines[begin:end]
        if tag != "equal" or not line.startswith(_IMPORTS)
    ]
    return dedent("\n".join(kept)).strip("\n")
