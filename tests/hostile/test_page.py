"""The page about reliability names tests that exist, and all programs of one of them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.live.test_interoperation import PROGRAMS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text()
NAMED = re.findall(r"`(\w+\.py)::(\w+)(?:\[(\w+)\])?`", PAGE)


def test_tests_that_the_page_names_exist() -> None:
    assert NAMED
    for file, test, _ in NAMED:
        assert f"\ndef {test}(" in (ROOT / "tests" / "live" / file).read_text(), test


def test_programs_that_are_tried_are_those_of_the_page() -> None:
    named = {name for file, _, name in NAMED if name and file == "test_interoperation.py"}
    assert named == set(PROGRAMS)
