"""What messages of several rules say in the same words."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from xladoctor.diagnosis.phrases import TEMPLATES

STEP: dict[str, Any] = {"frame_ms": 2.5, "step_ms": 10.0}


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        (
            "{{ at | places }}",
            [{"file": "a.py", "line": 3}, {"file": "b.py", "line": 4}],
            "a.py:3, b.py:4",
        ),
        ("{{ at | places }}", [{"file": "a.py", "line": 3, "count": 2}], "a.py:3 (2 times)"),
        ("{{ at | shares }}", [{"place": "a.py:3", "share": 0.254}], "a.py:3 (25%)"),
        ("{{ at | places }}", [], ""),
    ],
)
def test_lists_of_lines(template: str, values: list[dict[str, Any]], text: str) -> None:
    assert TEMPLATES.from_string(template).render(at=values) == text


@pytest.mark.parametrize(
    ("cause", "text"),
    [(STEP, " A step without compiling takes 10 ms, the function 2.5 ms of it."), ({}, "")],
)
def test_part_of_a_step_is_said_where_it_is_known(cause: dict[str, Any], text: str) -> None:
    known = defaultdict(lambda: None, cause)
    assert TEMPLATES.from_string("{{ cause | part_of_step }}").render(cause=known) == text
