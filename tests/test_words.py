"""Docstrings, comments and pages are understood at first reading, also by people new to them.

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

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "xladoctor"
#: Made from help texts and columns.
GENERATED = {"commands.md", "evidence.md"}
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in GENERATED),
]
#: A pattern -> what to write instead.
CONSTRUCTIONS = {
    r"\b(tell|tells|told|telling) of\b": "reports, shows or records",
    r"\b(nothing|something|anything) tells\b": "if it is unknown",
    r"\btells? (apart|it apart|them apart)\b": "distinguish",
    r"\btells? (which|what|how|when|where|why|whether)\b": "shows, says",
    r"\bbut for\b": "except",
    r"\bis there already\b": "already exists",
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
    r"\b(is|are) believed\b": "is used",
    r"\bforetold\b": "predicted",
    r"\bnobody knows\b": "is unknown",
}
_BLOCKS = re.DOTALL | re.MULTILINE
_LEFT_OUT = re.compile(
    r"^( *)```.*?^\1```$|^<!-- (\w+): generated -->.*?^<!-- end of \2 -->$", _BLOCKS
)
#: A mark (a bullet, say), then text up to an empty line or the next mark.
_BLOCK = re.compile(
    r"^ *(?:- |\| |\d+\. |#+ |> )?(\S.*?)(?=\n\s*(?:\n|- |\||\d+\. |#|>)|\Z)", _BLOCKS
)


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


def page_prose(page: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, list items and rows of a page in Markdown, each with its first line.

    Code blocks are left out, and so is what is generated.
    """
    page = _LEFT_OUT.sub(lambda found: "\n" * found[0].count("\n"), page)
    for block in _BLOCK.finditer(page):
        yield page.count("\n", 0, block.start(1)) + 1, " ".join(block[1].split())


def faults(texts: Iterator[tuple[int, str]]) -> list[str]:
    return [
        f"line {line}: “{found[0]}” ({instead})"
        for line, text in texts
        for pattern, instead in CONSTRUCTIONS.items()
        if (found := re.search(pattern, text))
    ]


def test_no_construction_that_has_to_be_decoded() -> None:
    wrong = {
        str(path.relative_to(PACKAGE)): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if (lines := faults(prose(path.read_text(encoding="utf-8"))))
    }
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_page_has_to_be_decoded(page: Path) -> None:
    assert faults(page_prose(page.read_text(encoding="utf-8"))) == []


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
    assert faults(prose(source))


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("# Title\n\nIt is a run whose gap is\ntold at the end.\n", 3),
        ("Steps:\n\n- the first\n- Those of the loop\n", 4),
        ("| a | b |\n| --- | --- |\n| x | what a log tells of it |\n", 3),
    ],
)
def test_a_construction_is_found_wherever_it_stands_in_a_page(page: str, line: int) -> None:
    (fault,) = faults(page_prose(page))
    assert fault.startswith(f"line {line}: ")


def test_code_and_generated_parts_of_a_page_are_left_out() -> None:
    page = "```\nwhat it is told\n```\n\n<!-- keys: generated -->\nforetold\n<!-- end of keys -->\n"
    assert faults(page_prose(page)) == []
