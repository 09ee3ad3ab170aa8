"""The page in a browser: it says what it should, answers keys and clicks, and breaks no rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.report.chromium import CHROMIUM, require
from tests.report.diagnoses import GATED, TEXT
from tests.report.drawn import drawn
from tests.report.formats import rendered
from tests.report.test_html import BAD
from xladoctor.report.interface import Report

require()

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import Browser, Page, expect, sync_playwright  # noqa: E402

pytestmark = pytest.mark.xdist_group("browser")  # one worker starts it
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a page from disk; whatever it asks for or complains about fails the test."""
    wrong: list[str] = []
    contexts = []

    def asked(url: str) -> None:
        if not url.startswith("file://"):
            wrong.append(url)

    def open_(*reports: Report, **options: Any) -> Page:
        file = tmp_path / "report.html"
        file.write_text(rendered("html", reports), encoding="utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(file.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


DRAWN = Report(drawn())


def test_findings_fold_and_show_their_lines(opened: Open) -> None:
    page = opened(DRAWN)
    first, second = page.locator(".finding").all()[:2]
    expect(first.locator(".guilty")).to_contain_text("guilty()")
    expect(first.locator(".body > h3").first).to_be_visible()
    expect(second.locator(".body")).to_be_hidden()
    second.locator("summary").first.click()
    expect(second.locator(".body")).to_be_visible()
    first.get_by_text("Two of the graphs, side by side").click()
    expect(first.locator("td.was").last).to_have_text("add")
    expect(first.locator("td.now").last).to_have_text("mul")


def test_findings_are_chosen_by_severity_and_rule(opened: Open) -> None:
    page = opened(DRAWN)
    chosen = page.locator(".finding:visible .rule")
    expect(chosen).to_have_text(["XD101", "XD201", "XD701", "XD203"])
    info = page.get_by_role("button", name="info 1")
    info.click()
    expect(info).to_have_attribute("aria-pressed", "false")
    expect(chosen).to_have_text(["XD101", "XD201", "XD701"])
    expect(page.get_by_text("1 of 4 hidden")).to_be_visible()
    page.get_by_label("Rule", exact=True).select_option("XD701")
    expect(chosen).to_have_text(["XD701"])
    page.get_by_label("Rule", exact=True).select_option("all rules")
    info.click()
    expect(chosen).to_have_count(4)


def test_few_findings_need_no_choice(opened: Open) -> None:
    page = opened(Report(replace(drawn(), findings=drawn().findings[:3])))
    expect(page.get_by_label("Rule", exact=True)).to_have_count(0)


@pytest.mark.parametrize("allowed", [["clipboard-read", "clipboard-write"], []])
def test_fix_is_copied_or_else_selected(opened: Open, allowed: list[str]) -> None:
    page = opened(DRAWN, permissions=allowed)
    if not allowed:  # as where a policy forbids it
        page.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error()))")
    first = page.locator(".finding").first
    code = first.locator("[data-copy]").text_content()
    button = first.get_by_role("button", name="Copy")
    button.click()
    expect(first.get_by_role("button", name="Copied" if allowed else "Selected")).to_be_visible()
    got = "navigator.clipboard.readText()" if allowed else "getSelection().toString()"
    assert page.evaluate(got) == code


@pytest.mark.parametrize("width", [390, 1280])
def test_long_lines_of_code_are_wrapped(opened: Open, width: int) -> None:
    page = opened(Report(drawn(" + abcd" * 40)), viewport={"width": width, "height": 900})
    cut = page.locator(".source pre, .change pre").evaluate_all(
        "all => all.filter(pre => pre.scrollWidth > pre.clientWidth).length"
    )
    assert cut == 0


def test_tables_that_do_not_fit_say_so_and_scroll_by_keyboard(opened: Open) -> None:
    page = opened(DRAWN, viewport={"width": 390, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    box = page.get_by_role("region", name="The steps as a table")
    expect(box).to_have_css("mask-image", re.compile("gradient"))
    box.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("box => box.scrollLeft > 0", arg=box.element_handle())
    box.evaluate("box => box.scrollLeft = box.scrollWidth")
    expect(box).to_have_css("mask-image", "none")
    fits = page.locator(".wide:not(.more-right)").evaluate_all(
        "all => all.every(box => box.scrollLeft + box.clientWidth >= box.scrollWidth - 1)"
    )
    assert fits


def test_steps_answer_the_pointer(opened: Open) -> None:
    page = opened(DRAWN)
    plot, told = page.locator(".plot .u-over"), page.locator(".readout")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    plot.hover(position={"x": box["width"] * 150.5 / 200, "y": 30})
    expect(told).to_contain_text("step 150: 1 s: compile 1 s, Python 2 ms, reads 700 µs")
    expect(told).to_contain_text("1 compilation")
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + 50)
    page.mouse.up()
    plot.hover(position={"x": 1, "y": 30})
    expect(told).to_have_text(re.compile("^step (49|50): "))
    plot.dblclick(position={"x": 5, "y": 30})
    plot.hover(position={"x": 1, "y": 30})
    expect(told).to_contain_text("step 0: 2.7 ms")


def test_steps_answer_keys_and_buttons(opened: Open) -> None:
    page = opened(DRAWN)
    plot, told = page.locator(".plot"), page.locator(".readout")
    plot.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(told).to_contain_text("step 2:")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    expect(told).to_contain_text("step 51:")
    page.keyboard.press("0")
    spikes = page.get_by_role("button", name="Whole spikes")
    spikes.click()
    expect(spikes).to_have_attribute("aria-pressed", "true")


def test_very_many_steps_are_drawn_several_together(opened: Open) -> None:
    page = opened(Report(drawn(steps=30_000)))
    plot, told = page.locator(".plot .u-over"), page.locator(".readout")
    plot.hover(position={"x": 1, "y": 30})
    expect(told).to_contain_text("on average")
    expect(told).to_contain_text("the longest 1 s")  # however few of them there are
    page.locator(".plot").focus()
    for _ in range(12):
        page.keyboard.press("+")
    plot.hover(position={"x": 1, "y": 30})
    expect(told).not_to_contain_text("on average")


def test_processes_are_coloured_by_their_share_of_a_step(opened: Open) -> None:
    page = opened(DRAWN)
    colours = (
        page.locator(".heat tbody tr")
        .nth(1)
        .locator("td")
        .evaluate_all("cells => cells.map(cell => getComputedStyle(cell).backgroundColor)")
    )
    assert len({*colours}) == 4  # none for the number of steps
    page.get_by_role("link", name="Processes side by side").click()
    expect(page.locator(".heat")).to_be_in_viewport()


def test_lanes_zoom_together(opened: Open) -> None:
    page = opened(DRAWN)
    step = page.locator(".lanes").first
    step.get_by_role("button", name="Zoom in").click()
    boxes = {svg.get_attribute("viewBox") for svg in step.locator(".lane > svg").all()}
    assert boxes == {"250 0 500 1"}
    step.get_by_role("button", name="Whole step").click()
    expect(step.locator(".lane > svg").first).to_have_attribute("viewBox", "0 0 1000 1")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
@pytest.mark.parametrize("report", [DRAWN, Report(TEXT), GATED], ids=["drawn", "text", "gated"])
def test_page_is_usable_by_all(opened: Open, report: Report, scheme: str) -> None:
    page = opened(report, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    results = Axe().run(page)
    found = results.response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == [], (
        results.generate_report()
    )


def test_page_reads_without_scripts(opened: Open) -> None:
    page = opened(DRAWN, java_script_enabled=False)
    expect(page.locator(".finding").first.locator(".guilty")).to_be_visible()
    expect(page.locator("noscript .note")).to_be_visible()
    expect(page.locator(".lane > svg").first).to_be_visible()


def test_printing_unfolds_everything(opened: Open) -> None:
    page = opened(DRAWN)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0


@pytest.mark.parametrize("text", [BAD, "x" * 5_000])
def test_adversarial_text_changes_nothing(opened: Open, text: str) -> None:
    """The fixture fails if a script of it runs, or the policy had to stop one."""
    page = opened(Report(drawn(text)))
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.locator("img, main style, main script:not([type])").count() == 0
    width = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0  # no long name makes all of the page wider
