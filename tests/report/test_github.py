"""Annotations on GitHub: ten of a level, escaped, on lines of the repository."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from tests.report.diagnoses import GATED
from tests.report.formats import HOSTILE, hostile, many, rendered, sick_of
from tests.support import finding
from xladoctor.report.interface import Report

COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^:,]*)(?:,\w+=[^:,]*)*)::(.*)")


def commands(*reports: Report) -> list[tuple[str, dict[str, str], str]]:
    """What the runner reads: level, properties and message of each line."""
    read = []
    for line in rendered("github", reports).splitlines():
        match = COMMAND.fullmatch(line)
        assert match, line
        properties = dict(pair.split("=", 1) for pair in match[2].split(","))
        read.append(
            (match[1], {k: unescaped(v) for k, v in properties.items()}, unescaped(match[3]))
        )
    return read


def unescaped(text: str) -> str:
    for code in ("%0D", "%0A", "%3A", "%2C", "%25"):
        text = text.replace(code, chr(int(code[1:], 16)))
    return text


def test_ten_of_each_level_by_saving_and_the_last_one_says_how_many_more() -> None:
    shown = commands(sick_of(*many(14), *many(11, "warning")), sick_of(*many(3, "info")))
    titles = [properties["title"] for _, properties, _ in shown]
    levels = [level for level, _, _ in shown]
    assert levels == ["error"] * 10 + ["warning"] * 10 + ["notice"] * 3
    assert titles[:2] == ["XD201 Title 13", "XD201 Title 12"]
    assert "And 4 more errors that GitHub would not show: see the job's summary." in shown[9][2]
    assert "And 1 more warning that" in shown[19][2]
    assert "more" not in shown[22][2]


def test_limit_is_of_all_programs_together() -> None:
    several = [many(8), [f for f in many(16) if f.fingerprint >= "error-8" or f.count == 0]]
    shown = commands(*(sick_of(*findings) for findings in several))
    assert len(shown) == 10


@pytest.mark.parametrize("number", [1, 10])
def test_nothing_is_said_of_more_where_there_is_none(number: int) -> None:
    shown = commands(sick_of(*many(number)))
    assert len(shown) == number
    assert "And " not in shown[-1][2]


def test_same_defect_of_two_programs_is_shown_once() -> None:
    assert len(commands(sick_of(*many(2)), sick_of(*many(2)))) == 2


def test_what_fails_the_gate_is_an_error_and_comes_first() -> None:
    shown = commands(GATED)
    assert [p["title"].split()[0] for level, p, _ in shown if level == "error"] == [
        "XD101",
        "XD701",
        "max_compilations_after_warmup",
    ]
    assert [p["title"].split()[0] for level, p, _ in shown if level == "warning"] == [
        "XD401",
        "max_fallbacks_per_step",
    ]


@settings(max_examples=50, deadline=None)
@given(HOSTILE)
def test_text_of_the_program_makes_no_command_of_its_own(text: str) -> None:
    report = hostile(text)
    shown = commands(report)
    assert len(shown) == 5
    assert all(set(p) <= {"file", "line", "title"} for _, p, _ in shown)


def test_escapes() -> None:
    (annotation,) = commands(sick_of(finding(message="50% of it,\nthen: more", title="a: b, c")))
    assert annotation[1]["title"] == "XD201 a: b, c"
    assert annotation[2].startswith("50% of it,\\nthen: more\n")
