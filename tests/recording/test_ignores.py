"""Comments that ask to ignore findings, and the lines that each is about."""

from __future__ import annotations

import textwrap

import pytest

from xladoctor.recording.bootstrap._xladoctor.ignores import ignores

ASKS = "# xladoctor: ignore[XD201] why"


def about(text: str) -> list[tuple[int, int, int]]:
    """Line, first and last line of each comment; ``@`` stands for one."""
    source = textwrap.dedent(text).lstrip("\n").replace("@", ASKS).splitlines(keepends=True)
    return [(asked.line, asked.first, asked.last) for asked in ignores(source)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x.item()  @", [(1, 1, 1)]),
        ("@\nx.item()\ny = 1\n", [(1, 2, 2)]),
        ("@\n# more words\nx.item()\n", [(1, 3, 3)]),
        ("@\n@\nx.item()\n", [(1, 3, 3), (2, 3, 3)]),
        ("@\n\nx.item()\n", []),
        ("@\n", []),
        ("f(  @\n  a,\n  b)\n", [(1, 1, 3)]),
        ("f(\n  a,\n  b)  @\n", [(3, 1, 3)]),
        ("f(\n  a,  @\n  b)\n", [(2, 2, 2)]),
        ("f(\n  @\n  a,\n  b)\n", [(2, 3, 3)]),
        ("f(\n  a,\n  @\n)\n", [(3, 4, 4)]),
        ("@\nf(\n  a,\n  b)\n", [(1, 2, 4)]),
        ("y = a + \\\n  b  @\n", [(2, 1, 2)]),
        ("for x in y:  @\n  x.item()\n", [(1, 1, 1)]),
        ("for x in y:\n  @\n  x.item()\n  x.item()\n", [(2, 3, 3)]),
        ("if x:\n  y()\n@\nz()\n", [(3, 4, 4)]),
        ("s = '@'\n", []),
        ("s = '''\n@\n'''\n", []),
        ("s = '''\n'''  @\n", [(2, 1, 2)]),
        ("x()  @\ny = (\n", [(1, 1, 1)]),
        ("x()  # xladoctor: no such thing\n", []),
        ("x()  #XLAdoctor: ignore xd201\n", [(1, 1, 1)]),
    ],
)
def test_comment_is_about_its_line_its_statement_or_what_is_below(
    text: str, expected: list[tuple[int, int, int]]
) -> None:
    assert about(text) == expected


def test_text_is_that_of_the_comment_alone() -> None:
    (asked,) = ignores([f"x()  # noqa  {ASKS}\n"])
    assert asked.text == ASKS


def test_file_of_a_generator_is_not_read() -> None:
    assert ignores([f"x()  {ASKS}\n"] * 20_001) == []
