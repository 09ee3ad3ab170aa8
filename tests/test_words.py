"""Docstrings and comments are understood at first reading, by people who have not written them.

Each construction in the list once hid what a sentence was about: a fragment without a subject, a
verb in place of the field's term (evidence *shows*, *reports* or *records* something; it does not
*tell of* it), or a chain of pronouns. None of them is needed to describe code.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "xladoctor"
#: A pattern -> what to write instead.
CONSTRUCTIONS = {
    r"\b(tell|tells|told|telling) of\b": "reports, shows or records",
    r"\b(nothing|something|anything) tells\b": "if it is unknown",
    r"\b(is|are|be) told\b": "is known, is recorded, can be distinguished",
    r"\btold apart\b": "distinguished",
    r"\bhears? of\b": "is called with, receives",
    r"\bof (which|whom) is known\b": "whose … is known",
    r"\bthat of (that|those)\b": "name the thing again",
    r"\bthose of (them|these|those)\b": "name the things again",
    r"\bwhose [^.,;:]* (is|are|was|were) none\b": "without …",
    r"\bwere nothing\b": "were not …",
    r"\bturns? of (a|the) loop\b": "iteration",
    r"^(Those|That) (of|that|which)\b": "a subject: the steps of …",
}


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings and blocks of comments, each with its first line, as running text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, " ".join(text.split())
    block: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            block.append((token.start[0], token.string.lstrip("#: ")))
        elif token.type != tokenize.NL and block:
            yield block[0][0], " ".join(text for _, text in block)
            block = []


def faults(source: str) -> list[str]:
    return [
        f"line {line}: “{found[0]}” ({instead})"
        for line, text in prose(source)
        for pattern, instead in CONSTRUCTIONS.items()
        if (found := re.search(pattern, text))
    ]


def test_no_construction_that_has_to_be_decoded() -> None:
    wrong = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if (lines := faults(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "source",
    [
        '"""Those of the loop."""',
        '"""What a log tells\nof it."""',
        "# Sites whose steps\n# were none.\nx = 1\n",
        "x = 1  # reads of which is known what launched them\n",
        'class A:\n    """Lines, where nothing tells them."""',
    ],
)
def test_a_construction_is_found_wherever_it_stands(source: str) -> None:
    assert faults(source)
