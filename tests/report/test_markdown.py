"""The comment and the job's summary: within their limits, and the program's text only shown."""

from __future__ import annotations

import html
import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.report.diagnoses import GATED
from tests.report.formats import HOSTILE, SICK_REPORT, hostile, many, rendered, sick_of
from tests.support import finding
from xladoctor.report.detail import Detail
from xladoctor.report.github_summary import LIMIT as SUMMARY_LIMIT
from xladoctor.report.html.page import _environment
from xladoctor.report.interface import Style
from xladoctor.report.markdown import LIMIT, MARKER
from xladoctor.report.markup import block, code, element, inline, prose, table

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HARMLESS = {
    "details",
    "summary",
    "b",
    "h2",
    "p",
    "strong",
    "ul",
    "li",
    "code",
    "pre",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "br",
}
APART = "\u200b"


class Page(HTMLParser):
    """The tags and texts of rendered Markdown."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.uncoded = ""
        self._code = 0
        self.feed(RENDERER.render(markdown))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.text += data
        self.uncoded += "\0" if self._code else data  # which keeps apart what is beside it


def spaced(text: str) -> str:
    return " ".join(text.replace(APART, "").split())


TEXTS = HOSTILE.map(lambda text: "".join(c for c in text if c.isprintable() or c == "\n"))


@settings(max_examples=200, deadline=None)
@given(TEXTS)
@example("#_")
def test_inline_text_is_shown_as_it_is(text: str) -> None:
    page = Page(inline(text))
    assert set(page.tags) <= {"p"}
    assert spaced(page.text) == spaced(text)
    assert not re.search(r"[@#]\w", page.text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_prose_is_shown_as_it_is_but_for_the_backticks_of_code(text: str) -> None:
    page = Page(prose(text))
    assert set(page.tags) <= {"p", "code"}
    assert "".join(page.text.replace("`", "").replace(APART, "").split()) == "".join(
        text.replace("`", "").replace(APART, "").split()
    )
    assert not re.search(r"[@#]\w", page.uncoded)


def test_code_in_prose() -> None:
    assert prose("use `a b`, not `c` or ` d") == "use `a b`, not `c` or \\` d"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sum running_loss.", "sum `running_loss`."),
        ("use torch.zeros(1).to(device) (a call)", "use `torch.zeros(1).to(device)` (a call)"),
        (
            "add_step_closure(log, args=(loss,)): later",
            "`add_step_closure(log, args=(loss,))`: later",
        ),
        ("to f32[17,64]; then", "to `f32[17,64]`; then"),
        ("a value (item) is read", "a value (item) is read"),
        ("@a_b and a_b|c", "@&#8203;a\\_b and a\\_b\\|c"),
        ("n = len(x), then x = torch.cat([x, y])", "`n = len(x)`, then `x = torch.cat([x, y])`"),
        ("torch.arange(len(x)) < n along", "`torch.arange(len(x)) < n` along"),
        ("x = pad(x, (0, -x.shape[1] % 32)), each", "`x = pad(x, (0, -x.shape[1] % 32))`, each"),
        (
            "np.pad(x, ((0, 0), (0, -x.shape[1] % 32)))",
            "`np.pad(x, ((0, 0), (0, -x.shape[1] % 32)))`",
        ),
        ("put x[mask] = y (if step % 10 == 0:)", "put `x[mask] = y` (`if step % 10 == 0:`)"),
        ("pass dynamic=False, or use torch.where.", "pass `dynamic=False`, or use `torch.where`."),
        ("12 < 20 steps (3, of them 2) - 1 of 4", "12 \\< 20 steps (3, of them 2) - 1 of 4"),
        ("at a/long_run.py:19, or train.py:2", "at `a/long_run.py:19`, or `train.py:2`"),
        ("it compares them with ==, and waits", "it compares them with ==, and waits"),
    ],
)
def test_calls_and_names_are_code(text: str, shown: str) -> None:
    assert prose(text) == shown
    page = str(_environment().filters["prose"](text))
    assert re.findall("<code>(.*?)</code>", page) == [
        html.escape(part) for part in re.findall("`(.*?)`", shown)
    ]


@pytest.mark.parametrize(
    "part", ["x", "(", "a = ", "a(b", "a_b.", "(1, 2.a(b)", "(1,", "f(", "[(", "f(x)"]
)
def test_finding_code_takes_no_longer_than_reading(part: str) -> None:
    began = time.process_time()
    prose(part * (100_000 // len(part)))
    assert time.process_time() - began < 5


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_cell_of_a_table_is_shown_as_it_is(text: str) -> None:
    page = Page(table(["a", "b"], [["x", inline(text)]]))
    assert page.tags.count("td") == 2
    assert spaced(page.text) == spaced(f"a b x {text}")


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_element_is_shown_as_it_is(text: str) -> None:
    page = Page(f"<details><summary>{element(text)}</summary>\n\n</details>")
    assert page.tags == ["details", "summary"]
    assert spaced(page.text) == spaced(text)


@settings(max_examples=200, deadline=None)
@given(TEXTS.filter(str.strip))
def test_code_is_shown_as_it_is(text: str) -> None:
    page = Page(f"at {code(text)} here")
    assert page.tags == ["p", "code"]
    assert page.text.split() == ["at", *text.split(), "here"]


@settings(max_examples=200, deadline=None)
@given(st.text("`~ab\n", min_size=1).filter(str.strip))
def test_block_is_shown_as_it_is(text: str) -> None:
    page = Page(f"{block(text, 'python')}\n\nafter")
    assert page.tags == ["pre", "code", "p"]
    assert page.text == f"{text}\n\nafter\n"


@pytest.mark.parametrize("name", ["markdown", "github-summary"])
@settings(max_examples=50, deadline=None)
@given(text=HOSTILE)
def test_text_of_the_program_is_not_obeyed(name: str, text: str) -> None:
    written = rendered(name, [hostile(text)])
    page = Page(written)
    assert set(page.tags) <= HARMLESS
    assert page.tags.count("details") == 2
    assert not re.search(r"@\w", page.uncoded)


def test_comment_begins_with_its_marker() -> None:
    for reports in ([SICK_REPORT], [GATED, SICK_REPORT]):
        text = rendered("markdown", reports)
        assert text.startswith(f"{MARKER}\n")
        assert text.count(MARKER) == 1


def test_comment_is_within_its_limit_and_says_what_is_left_out() -> None:
    text = rendered("markdown", [sick_of(*many(500)), sick_of(*many(500))])
    assert LIMIT * 0.9 < len(text) <= LIMIT
    left = re.search(r"\*\*Left out: (\d+) findings\*\*", text)
    assert left
    assert text.count("XD201 Title") + int(left[1]) == 1000
    assert text.count("## xladoctor") == 2


def test_summary_is_within_its_limit_in_bytes() -> None:
    text = rendered("github-summary", [sick_of(*many(3000, message="größe " * 100))])
    assert SUMMARY_LIMIT * 0.9 < len(text.encode()) <= SUMMARY_LIMIT
    assert "Left out:" in text


def test_one_huge_text_does_not_break_the_limit() -> None:
    text = rendered("markdown", [sick_of(finding(message="x" * 100_000), *many(2))])
    assert len(text) <= LIMIT
    assert "Left out: 1 finding**" in text
    assert "Title 1" in text


def test_nothing_is_left_out_where_everything_fits() -> None:
    assert "Left out" not in rendered("markdown", [GATED])


def test_summary_unfolds_all_and_the_comment_the_first() -> None:
    assert rendered("markdown", [SICK_REPORT]).count("<details open>") == 1
    assert rendered("github-summary", [SICK_REPORT]).count("<details open>") == 4


@pytest.mark.parametrize("show_ignored", [True, False])
@pytest.mark.parametrize("name", ["markdown", "github-summary"])
def test_ignored_findings_are_listed_on_request(name: str, show_ignored: bool) -> None:
    text = rendered(name, [SICK_REPORT], Style(detail=Detail(ignored=show_ignored)))
    assert ("logged on purpose" in text) == show_ignored
    assert ("ignored at" in text) == show_ignored
