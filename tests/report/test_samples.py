"""Whole reports on what programs left, as terminals of two widths show them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.report.captured import NAMES, diagnosis
from tests.report.snapshots import assert_as_before
from xladoctor.report.interface import Report, Style
from xladoctor.report.terminal import render

SNAPSHOTS = Path(__file__).parent / "sample_snapshots"
pytestmark = pytest.mark.xdist_group("captured")  # one worker makes each diagnosis once


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_report_is_as_it_was(name: str, width: int) -> None:
    output = io.StringIO()
    render([Report(diagnosis(name))], output, Style(width))
    assert_as_before(SNAPSHOTS / f"{name}-{width}.txt", output.getvalue())


@pytest.mark.parametrize("name", ["recompiling", "missing_lowering", "scalar_read"])
def test_first_screen_says_what_where_how_much_and_what_to_do(name: str) -> None:
    output = io.StringIO()
    render([Report(diagnosis(name))], output, Style(80))
    screen = output.getvalue()
    assert len(screen.splitlines()) <= 24
    first = diagnosis(name).findings[0]
    line = f"{first.locations[0].file}:{first.locations[0].line}"
    for shown in (first.rule, line, "saves ", "    why  ", "    fix  ", "next, "):
        assert shown in screen


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == {
        f"{name}-{width}" for name in NAMES for width in (80, 120)
    }
