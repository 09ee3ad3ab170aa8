"""Whole reports on what programs left, as terminals of two widths show them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from tests.report.captured import NAMES, diagnosis
from tests.report.snapshots import assert_as_before
from tests.report.test_terminal import columns
from xladoctor.report.detail import Detail
from xladoctor.report.interface import Report, Style
from xladoctor.report.terminal import render

SNAPSHOTS = Path(__file__).parent / "sample_snapshots"
pytestmark = pytest.mark.xdist_group("captured")  # one worker makes each diagnosis once
ONE = "recompiling"


def shown(name: str, style: Style) -> str:
    output = io.StringIO()
    render([Report(diagnosis(name))], output, style)
    return output.getvalue()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", NAMES)
def test_report_is_as_it_was(name: str, width: int) -> None:
    assert_as_before(SNAPSHOTS / f"{name}-{width}.txt", shown(name, Style(width)))


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [60, 200])
def test_one_report_at_other_widths_is_as_it_was(width: int, unicode: bool) -> None:
    text = shown(ONE, Style(width, unicode=unicode))
    file = f"{ONE}-{width}{'' if unicode else '-ascii'}.txt"
    assert_as_before(SNAPSHOTS / file, text)


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("name", NAMES)
def test_lines_fit_and_line_numbers_are_whole(name: str, width: int, unicode: bool) -> None:
    found = diagnosis(name).findings
    for detail in (Detail(), Detail(verbose=True)):
        text = shown(name, Style(width, unicode=unicode, detail=detail))
        assert [line for line in text.splitlines() if columns(line) > width] == []
        assert unicode or text.isascii()
        listed = found if detail.verbose else found[:1]
        at = [finding.locations[0] for finding in listed if finding.locations]
        for place in at:
            assert re.search(rf"\.py:{place.line}\b", text), place


@pytest.mark.parametrize("name", ["recompiling", "missing_lowering", "scalar_read"])
def test_first_screen_says_what_where_how_much_and_what_to_do(name: str) -> None:
    screen = shown(name, Style(80))
    assert len(screen.splitlines()) <= 24
    first = diagnosis(name).findings[0]
    line = f"{first.locations[0].file}:{first.locations[0].line}"
    for said in (first.rule, line, "saves ", "    why  ", "    fix  ", "next, "):
        assert said in screen


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == {
        *(f"{name}-{width}" for name in NAMES for width in (80, 120)),
        *(f"{ONE}-{width}{end}" for width in (60, 200) for end in ("", "-ascii")),
    }
