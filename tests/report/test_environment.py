"""An examination on a terminal and as JSON."""

from __future__ import annotations

import io
import json
import re

import pytest

from xladoctor.environment.interface import Check, Examination, failure, ok, skipped, warning
from xladoctor.report.environment import render, render_json
from xladoctor.report.interface import Style

LONG = "/home/ada/" + "long/" * 20 + "python"
SICK = Examination(
    (
        ok("Python", f"3.12.1, {LONG}"),
        failure(
            "torch_xla", "cannot be imported: \x1b[2J [bold]", "pip install 'torch==2.9.0'\nor so"
        ),
        warning("settings", "XLA_SYNC_WAIT=1: the host waits for each step – always", "unset it"),
        skipped("device", "needs torch_xla"),
    )
)


def rendered(checks: tuple[Check, ...], style: Style) -> str:
    output = io.StringIO()
    render(Examination(checks), output, style)
    return output.getvalue()


def test_a_line_a_check_with_advice_below() -> None:
    text = rendered(SICK.checks[1:], Style(80))
    assert text == (
        "✗ torch_xla  cannot be imported: \\x1b[2J [bold]\n"
        "    pip install 'torch==2.9.0'\n"
        "    or so\n"
        "! settings   XLA_SYNC_WAIT=1: the host waits for each step – always\n"
        "    unset it\n"
        "- device     not checked: needs torch_xla\n"
        "\n"
        "0 ok, 1 warning, 1 failure, 1 not checked\n"
    )


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize("unicode", [True, False])
def test_lines_are_within_the_width_and_lose_nothing(width: int, unicode: bool) -> None:
    text = rendered(SICK.checks, Style(width, unicode=unicode))
    assert all(len(line) <= width for line in text.splitlines())
    assert LONG in re.sub(r"\s", "", text)
    assert unicode or text.isascii()


def test_colours_are_those_of_the_marks() -> None:
    text = rendered(SICK.checks, Style(80, color=True))
    assert "\x1b[32m✓\x1b[0m Python" in text
    assert "\x1b[1;31m✗\x1b[0m torch_xla" in text
    assert "\x1b[1;33m!\x1b[0m settings" in text


def test_all_clear_is_a_sentence() -> None:
    text = rendered((ok("a", "b"), ok("c", "d"), skipped("e", "f")), Style(80))
    assert text.splitlines()[-1] == "No problems found: 2 checks ok, 1 not checked."
    assert rendered((ok("a", "b"),), Style(80)).endswith("\nNo problems found: 1 check ok.\n")


def test_json_has_every_field() -> None:
    output = io.StringIO()
    render_json(SICK, output, Style(80, unicode=False))
    written = json.loads(output.getvalue())
    assert (written["schema_version"], written["ok"]) == (1, False)
    assert [Check(**check) for check in written["checks"]] == list(SICK.checks)
    assert output.getvalue().isascii()
