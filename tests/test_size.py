"""How lines are counted: what holds code or docstrings, and what is too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import size


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("x = 1\n", 1),
        ("\n\n  \nx = 1\n\n", 1),
        ("# a comment\nx = 1  # another\n    # a third\n", 1),
        ('"""A docstring."""\n', 1),
        ('"""A docstring.\n\nIts second part.\n"""\n', 3),
        ("x = (\n    1,\n    # why\n\n    2,\n)\n", 4),
        ("def f():\n    if x:\n        return (1 +\n                2)\n", 4),
        ('x = """\n# no comment\n"""\n', 3),
    ],
)
def test_lines_that_hold_code_or_docstrings_count(source: str, lines: int) -> None:
    assert size.lines_of(source) == lines


def test_what_is_above_its_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "ROOT", tmp_path)
    monkeypatch.setattr(size, "PACKAGE", tmp_path / "xladoctor")
    folder = tmp_path / "xladoctor" / "part"
    folder.mkdir(parents=True)
    body = "    x = 1\n"
    (folder / "short.py").write_text("def f():\n" + 49 * body + "\n\n# after it\n")
    (folder / "long.py").write_text(
        "class C:\n    def f(self):\n" + 50 * f"    {body}" + 400 * "# a comment\n"
    )
    assert list(size.too_long()) == [
        ("xladoctor/part/long.py", 452),
        ("xladoctor/part/long.py:f", 51),
    ]
    assert size.by_folder() == {"xladoctor/part": 50 + 52}
