"""The page as it looks: screenshots of what programs of all kinds left, which are golden files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.captured import diagnosis
from tests.report.chromium import CHROMIUM, require
from tests.report.formats import rendered
from xladoctor.report.interface import Report

require()

from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.report.pictures import TOLERANCE, assert_looks_as_before, difference, opened  # noqa: E402

SCREENSHOTS = Path(__file__).parent / "screenshots"
_WIDE, _NARROW = {"width": 1100, "height": 1600}, {"width": 390, "height": 1600}
#: Name of the picture: the program, and how the page is looked at.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    name: (name, {"viewport": _WIDE})
    for name in (
        "recompiling",
        "number_as_state",
        "graph_breaks",
        "launch_bound",
        "metrics",
        "processes",
        "failing",
        "two_threads",
        "long_run",
    )
} | {
    "recompiling-dark": ("recompiling", {"viewport": _WIDE, "color_scheme": "dark"}),
    "launch_bound-dark": ("launch_bound", {"viewport": _WIDE, "color_scheme": "dark"}),
    "recompiling-narrow": ("recompiling", {"viewport": _NARROW}),
    "metrics-narrow": ("metrics", {"viewport": _NARROW}),
    "two_threads-narrow": ("two_threads", {"viewport": _NARROW}),
    "long_run-narrow-dark": ("long_run", {"viewport": _NARROW, "color_scheme": "dark"}),
    "recompiling-print": ("recompiling", {"viewport": _WIDE}),
}
pytestmark = pytest.mark.xdist_group("captured")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.mark.parametrize("case", CASES)
def test_page_looks_as_it_did(case: str, browser: Browser, tmp_path: Path) -> None:
    name, options = CASES[case]
    file = tmp_path / "report.html"
    file.write_text(rendered("html", [Report(diagnosis(name))]), encoding="utf-8")
    page = browser.new_page(**options)
    page.goto(file.as_uri())
    if case.endswith("print"):
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert_looks_as_before(SCREENSHOTS / f"{case}.png", page.screenshot())
    page.close()


def test_pictures_of_different_pages_differ_by_more_than_is_tolerated() -> None:
    pictures = [opened(SCREENSHOTS / f"{case}.png") for case in CASES]
    assert min(difference(*pair) for pair in itertools.combinations(pictures, 2)) > TOLERANCE


def test_every_picture_is_of_a_case() -> None:
    assert {path.stem for path in SCREENSHOTS.glob("*")} == set(CASES)
