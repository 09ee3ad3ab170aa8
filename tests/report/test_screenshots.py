"""The page as it looks: screenshots, which are golden files too.

Fonts and versions of the browser differ from machine to machine, so pictures are compared by what
is left of them when they are very small. ``XLADOCTOR_UPDATE_SNAPSHOTS=1`` takes them anew: look at
them then.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.captured import diagnosis
from tests.report.chromium import CHROMIUM, require
from tests.report.formats import rendered
from xladoctor.report.interface import Report

require()

from PIL import Image, ImageChops, ImageStat  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

SCREENSHOTS = Path(__file__).parent / "screenshots"
_WIDE, _NARROW = {"width": 1100, "height": 1600}, {"width": 420, "height": 1600}
#: Name of the picture: the program, and how the page is looked at.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    name: (name, {"viewport": _WIDE})
    for name in ("recompiling", "number_as_state", "graph_breaks", "launch_bound", "metrics",
                 "processes", "failing", "two_threads", "long_run")
} | {
    "recompiling-dark": ("recompiling", {"viewport": _WIDE, "color_scheme": "dark"}),
    "recompiling-narrow": ("recompiling", {"viewport": _NARROW}),
    "recompiling-print": ("recompiling", {"viewport": _WIDE}),
}  # fmt: skip
_KEPT = 2  # of a picture, one pixel in so many of a line
_CELL = 20  # pixels of what is kept that are compared as one
_TOLERANCE = 0.02  # mean difference of a colour, 0 to 1
pytestmark = pytest.mark.xdist_group("captured")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def taken(browser: Browser, case: str, folder: Path) -> Image.Image:
    name, options = CASES[case]
    file = folder / "report.html"
    file.write_text(rendered("html", [Report(diagnosis(name))]), encoding="utf-8")
    page = browser.new_page(**options)
    page.goto(file.as_uri())
    if case.endswith("print"):
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    page.close()
    return picture.reduce(_KEPT)


def opened(case: str) -> Image.Image:
    with Image.open(SCREENSHOTS / f"{case}.png") as picture:
        return picture.convert("RGB")


def difference(one: Image.Image, other: Image.Image) -> float:
    """Mean difference of all cells, in each colour; 0 to 1."""
    size = (one.width // _CELL, one.height // _CELL)
    small = [each.resize(size, Image.Resampling.BOX) for each in (one, other)]
    return sum(ImageStat.Stat(ImageChops.difference(*small)).mean) / 3 / 255


@pytest.mark.parametrize("case", CASES)
def test_page_looks_as_it_did(case: str, browser: Browser, tmp_path: Path) -> None:
    picture, kept = taken(browser, case, tmp_path), SCREENSHOTS / f"{case}.png"
    if os.environ.get("XLADOCTOR_UPDATE_SNAPSHOTS"):
        picture.quantize(64).save(kept, optimize=True)
    assert difference(picture, opened(case)) < _TOLERANCE


def test_pictures_of_different_pages_differ_by_more_than_is_tolerated() -> None:
    for one, other in itertools.combinations(map(opened, CASES), 2):
        if one.size == other.size:
            assert difference(one, other) > _TOLERANCE


def test_every_picture_is_of_a_case() -> None:
    assert {path.stem for path in SCREENSHOTS.glob("*")} == set(CASES)
