"""The whole report on a terminal."""

from __future__ import annotations

import io
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.diagnoses import SICK, TEXT
from tests.report.snapshots import assert_as_before
from tests.support import finding, location
from xladoctor.diagnosis.interface import Diagnosis, TimeParts, TimeSpent
from xladoctor.report.interface import Report, Style
from xladoctor.report.terminal import render
from xladoctor.report.words import PARTS

SNAPSHOTS = Path(__file__).parent / "snapshots"
CONTROL = re.compile(r"\x1b\[[0-9;]*m")
CASES = {
    f"{name}-{width}{'' if unicode else '-ascii'}": (diagnosis, Style(width, unicode=unicode))
    for name, diagnosis in (("sick", SICK), ("text", TEXT))
    for width in (50, 80, 120)
    for unicode in (True, False)
} | {"sick-80-color": (SICK, Style(80, color=True))}


def rendered(diagnosis: Diagnosis, style: Style) -> str:
    output = io.StringIO()
    render([Report(diagnosis)], output, style)
    return output.getvalue()


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in CONTROL.sub("", line))


@pytest.mark.parametrize("name", CASES)
def test_report_is_as_it_was(name: str) -> None:
    text = rendered(*CASES[name])
    assert_as_before(SNAPSHOTS / f"{name}.txt", text)


def test_ignored_findings_are_listed_on_request() -> None:
    assert "ignored at" not in rendered(SICK, Style(120))
    listed = rendered(SICK, Style(120, show_ignored=True))
    assert "  XD202 ignored at train.py:70: logged on purpose\n" in listed
    assert "  XD202 ignored at train.py:71: no reason given\n" in listed


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_lines_are_within_the_width(name: str) -> None:
    diagnosis, style = CASES[name]
    for line in rendered(diagnosis, style).splitlines():
        assert columns(line) <= style.width, line


@pytest.mark.parametrize("name", CASES)
def test_no_line_ends_in_blanks_and_the_text_ends_with_one_line_end(name: str) -> None:
    diagnosis, style = CASES[name]
    text = rendered(diagnosis, replace(style, color=False))
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("width", [20, 50, 80, 120])
def test_ascii_output_is_ascii(width: int) -> None:
    assert rendered(SICK, Style(width, unicode=False)).isascii()


def test_colours_change_nothing_but_colours() -> None:
    colored = rendered(SICK, Style(80, color=True))
    lines = [line.rstrip() for line in CONTROL.sub("", colored).splitlines()]
    assert lines == rendered(SICK, Style(80)).splitlines()
    assert "\x1b[1;31merror" in colored


def test_no_escape_sequence_without_colours() -> None:
    assert "\x1b" not in rendered(SICK, Style(80))


@pytest.mark.parametrize(
    "value", ["\x1b[2J", "\x1b]0;title\x07", "a\rb", "[bold]x[/bold]", ":warning:"]
)
def test_text_of_the_program_is_shown_and_not_obeyed(value: str) -> None:
    hostile = finding(message=f"before {value} after", title=f"Odd {value}",
                      locations=[location(f"a{value}b.py", source=f"x = '{value}'")])  # fmt: skip
    text = rendered(replace(SICK, findings=[hostile]), Style(80))
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\x07" not in text
    if value.isprintable():
        assert text.count(value) == 4


#: How the parts are drawn in ASCII, in the order of reports.
DRAWN = "_w#x=iusdt.-:"


@settings(max_examples=50, deadline=None)
@given(st.integers(20, 140), st.lists(st.floats(0, 5), min_size=13, max_size=13))
def test_bar_is_as_wide_as_the_report_and_in_proportion(width: int, seconds: list[float]) -> None:
    total = sum(seconds)
    if total < 0.01:
        return
    parts = {f"{name}_s": part for name, part in zip(PARTS, seconds, strict=True)}
    time = TimeSpent(None, total, TimeParts(**parts), 0.0)
    lines = rendered(replace(TEXT, time=time), Style(width, unicode=False)).splitlines()
    bar = next(line for line in lines if line and set(line) <= set(DRAWN))

    assert len(bar) == min(width, 100)
    for character, part in zip(DRAWN, seconds, strict=True):
        assert abs(bar.count(character) - part / total * len(bar)) <= 1
