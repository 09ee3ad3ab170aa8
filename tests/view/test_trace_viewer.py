"""XProf's trace viewer in a browser, as `xladoctor view` opens it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.chromium import CHROMIUM, require
from tests.view.test_xprof import SAMPLE, viewing

require()

from playwright.sync_api import expect, sync_playwright  # noqa: E402

from tests.report.pictures import assert_looks_as_before  # noqa: E402

_PAGE = "data/plugin/profile/trace_viewer@?run=scalar_read&tag=trace_viewer@&host=host_28435"
_PATIENCE_MS = 60_000
_TOLERANCE = 0.05  # most of it is XProf's own


@pytest.mark.thorough
@pytest.mark.timeout(180)
def test_findings_are_legible(tmp_path: Path) -> None:
    with viewing(SAMPLE, tmp_path, "--no-browser") as viewer, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(viewer.url + _PAGE)
        rows = page.frame_locator("iframe").locator("body")
        for row in (
            "/device:CUSTOM:xladoctor",
            "steps",
            "calls of python",
            "XD201 programs/scalar_read.py:35 Value read from the device",
        ):
            expect(rows).to_contain_text(row, timeout=_PATIENCE_MS)
        picture = b""
        while picture != (picture := page.screenshot()):  # it draws after it has made its rows
            page.wait_for_timeout(500)
        browser.close()
    assert_looks_as_before(Path(__file__).parent / "trace_viewer.png", picture, _TOLERANCE)
