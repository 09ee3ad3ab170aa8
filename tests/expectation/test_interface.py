"""What can be expected, how counts are compared, and what the plugin costs if it is not used."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from typing import Any

import pytest

import xladoctor
from tests.live.harness import ROOT, environment
from tests.support import finding
from xladoctor.expectation.interface import EventCounts
from xladoctor.recording.bootstrap._xladoctor.tally import Counts
from xladoctor.report.expectation import Unmet, headline, render
from xladoctor.report.interface import Style


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({}, TypeError, "expect() needs at least one of compilations, host_syncs, fallbacks"),
        ({"compilations": 1.5}, TypeError, "compilations must be a number of events, not 1.5"),
        ({"host_syncs": True}, TypeError, "host_syncs must be a number of events, not True"),
        ({"fallbacks": -1}, ValueError, "fallbacks must be 0 or more, not -1"),
    ],
)
def test_what_is_no_expectation(asked: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        xladoctor.expect(**asked)

    assert str(caught.value) == message


def test_numbers_have_names() -> None:
    with pytest.raises(TypeError, match="positional"):
        xladoctor.expect(0)


def test_what_happened_between_two_readings() -> None:
    before = Counts(10, 3, {(0, "item"): 4, (1, "cpu"): 1}, {"aten::nonzero": 7}, {})
    after = Counts(20, 5, {(0, "item"): 6, (1, "cpu"): 1, (2, "save"): 1}, {"aten::nonzero": 2}, {})

    happened = EventCounts.between(before, after)

    assert (happened.began_ns, happened.ended_ns) == (10, 20)
    assert happened.count("compilations") == 2
    assert happened.waits == {(0, "item"): 2, (2, "save"): 1}
    assert happened.count("fallbacks") == 2  # the program cleared its counters meanwhile


@pytest.mark.parametrize(
    ("unmet", "text"),
    [
        (Unmet("compilations", 1, 0), "1 compilation where none was expected"),
        (Unmet("host_syncs", 2, 1), "2 host syncs where at most 1 was expected"),
        (Unmet("fallbacks", 5, 3), "5 fallbacks where at most 3 were expected"),
    ],
)
def test_headline(unmet: Unmet, text: str) -> None:
    assert headline(unmet) == text


def test_text_of_a_failure() -> None:
    unmet = [Unmet("compilations", 1, 0), Unmet("host_syncs", 40, 0)]
    first = finding(rule="", title="First graph of a call site", count=1, locations=[])

    text = render(
        unmet, {"compilations": [first], "host_syncs": [finding()]}, ["And so on."], Style()
    )

    assert text.splitlines() == [
        "1 compilation where none was expected, 40 host syncs where none was expected",
        "",
        " 1  First graph of a call site",
        "    no line in this evidence",
        "    why  The host waits.",
        "    fix  Do not read.",
        "",
        " 2  XD201  Scalar read from the device in the step loop  (40 times)",
        "    train.py:41  in train",
        "    why  The host waits.",
        "    fix  Do not read.",
        "",
        "And so on.",
    ]


def test_plugin_imports_nothing_and_is_registered() -> None:
    program = (
        "import sys, pytest; before = set(sys.modules); import xladoctor.pytest_plugin;"
        " print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(ROOT)),
    )

    assert done.stdout == "['xladoctor', 'xladoctor.pytest_plugin']\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"xladoctor": "xladoctor.pytest_plugin"}
