from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixes.harness import case
from xladoctor.fixes.compose import applied, compatible
from xladoctor.fixes.interface import Change, Edit, Patch, Position

TEXT = "one\ntwo\nthree\n"


def edit(begin: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
    return Edit(Position(*begin), Position(*end), text)


def patch(*edits: Edit) -> Patch:
    return Patch(case("x  #!").finding, "kind", Path("/project/train.py"), "", Change("t", edits))


def test_edits_are_made_from_the_first_to_the_last_in_any_order() -> None:
    edits = [edit((3, 0), (3, 5), "3"), edit((1, 0), (1, 3), "1"), edit((2, 0), (2, 0), "new\n")]
    assert applied(TEXT, edits) == "1\nnew\ntwo\n3\n"


def test_equal_edits_are_made_once() -> None:
    line = edit((1, 0), (1, 0), "import torch_xla\n")
    assert applied(TEXT, [line, line]) == "import torch_xla\none\ntwo\nthree\n"


def test_an_edit_may_be_at_the_end() -> None:
    assert applied("one", [edit((1, 3), (1, 3), "\ntwo")]) == "one\ntwo"
    assert applied(TEXT, [edit((4, 0), (4, 0), "four\n")]) == TEXT + "four\n"


def test_edits_that_overlap_are_an_error() -> None:
    with pytest.raises(ValueError, match="two edits of line 1"):
        applied(TEXT, [edit((1, 0), (1, 3), "a"), edit((1, 2), (2, 0), "b")])


def test_the_first_patches_are_kept_and_the_others_named_with_what_they_conflict_with() -> None:
    first, second, third = (
        patch(edit((1, 0), (1, 3), "1")),
        patch(edit((1, 1), (1, 2), "x")),
        patch(edit((1, 3), (1, 3), "!")),
    )
    kept, conflicts = compatible([first, second, third])
    assert kept == [first, third]
    assert conflicts == [(second, first)]


@given(st.text("ab\n", max_size=40), st.data())
def test_texts_between_edits_stay(text: str, data: st.DataObject) -> None:
    lines = text.splitlines(keepends=True) or [""]
    line = data.draw(st.integers(1, len(lines)))
    column = data.draw(st.integers(0, len(lines[line - 1].rstrip("\n"))))
    offset = sum(map(len, lines[: line - 1])) + column
    made = applied(text, [edit((line, column), (line, column), "#")])
    assert made == f"{text[:offset]}#{text[offset:]}"
