"""Each format, with each hostile text wherever it shows a text of the program."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from tests.hostile.texts import TEXTS, with_text
from tests.report.diagnoses import GATED
from tests.report.drawn import drawn
from xladoctor.foreign import encodable, harmless
from xladoctor.report.interface import Report, Style
from xladoctor.report.output import Format

ORDINARY = "x"
#: One of each kind; the others are marked thorough.
_SOME = (
    "terminal: link as rich writes it",
    "CI: error on a line",
    "markup: end of a script",
    "markup: reference",
    "shell: quotes",
    "eye: half of a pair",
)
_ESCAPES = re.compile(r"\x1b(?:\[[\d;]*m|\]8;(?:id=[\w-]+;file:///[^\x1b]*|;)\x1b\\)")


def reported(text: str) -> list[Report]:
    """What a gate judged, and what has pictures, with this text in all that programs wrote."""
    return [
        with_text(Report(GATED.diagnosis, GATED.outcome), text),
        with_text(Report(drawn()), text),
    ]


def written(layout: Format, text: str, *, color: bool = False) -> str:
    """A file in this format, or what a terminal gets."""
    output = io.StringIO()
    renderer = import_module(f"xladoctor.report.{layout.value.replace('-', '_')}")
    renderer.render(reported(text), output, Style(color=color))
    return harmless(output.getvalue(), colored=color, commands=layout is Format.github)


@cache
def ordinary(layout: Format) -> str:
    return written(layout, ORDINARY)


EACH = [
    pytest.param(text, id=name, marks=() if name in _SOME else pytest.mark.thorough)
    for name, text in TEXTS.items()
]


@pytest.mark.parametrize("layout", list(Format), ids=str)
@pytest.mark.parametrize("text", EACH)
def test_a_text_is_shown_and_not_obeyed(text: str, layout: Format) -> None:
    shown = written(layout, text)
    assert_harmless(shown, layout)
    if layout in CHECKS:
        CHECKS[layout](shown, text)


@pytest.mark.parametrize("text", EACH)
def test_colours_and_links_of_a_terminal_are_our_own(text: str) -> None:
    assert_harmless(written(Format.terminal, text, color=True), Format.terminal, _ESCAPES)


def assert_harmless(shown: str, layout: Format, ours: re.Pattern[str] | None = None) -> None:
    """No character that is obeyed, except in ``ours``, and no line that is a command."""
    shown.encode()
    text = ours.sub("", shown) if ours else shown
    assert {sign for sign in text if not sign.isprintable()} <= {"\n", "\t"}
    assert not re.search(r"##(\[|vso\[|teamcity\[)", shown)
    commands = [line for line in shown.splitlines() if line.lstrip().startswith("::")]
    assert layout is Format.github or not commands


def assert_json(shown: str, text: str) -> None:
    """Valid JSON; nothing of the text is lost."""
    value = json.loads(shown)
    messages = [finding["message"] for finding in value[0]["findings"]]
    assert all(encodable(text) in message for message in messages)


def assert_valid_json(shown: str, text: str) -> None:
    json.dumps(json.loads(shown), ensure_ascii=False).encode()


def assert_xml(shown: str, text: str) -> None:
    def tags(document: str) -> list[str]:
        return [element.tag for element in ET.fromstring(document).iter()]

    assert tags(shown) == tags(ordinary(Format.junit))


def assert_annotations(shown: str, text: str) -> None:
    lines = shown.splitlines()
    assert len(lines) == len(ordinary(Format.github).splitlines())
    assert all(re.match(r"::(error|warning|notice) [^:]*::", line) for line in lines)


class Elements(HTMLParser):
    """The tags of a page with the names of their attributes, and its addresses."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[tuple[str, ...]] = set()
        self.addresses: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add((tag, *sorted(name for name, _ in attrs)))
        self.addresses |= {value or "" for name, value in attrs if name in ("href", "src")}


def assert_page(shown: str, text: str) -> None:
    found, usual = Elements(shown), Elements(ordinary(Format.html))
    assert found.tags <= usual.tags
    assert all(address.startswith(("#", "https://", "data:image")) for address in found.addresses)
    assert shown.count("<script") - text.count("<script") <= usual_scripts()


def usual_scripts() -> int:
    return ordinary(Format.html).count("<script")


def assert_markdown(layout: Format, shown: str) -> None:
    found, usual = marked(shown), marked(ordinary(layout))
    assert found <= usual


def marked(text: str) -> set[str]:
    """HTML, and the targets of links and images, that Markdown has."""
    parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    tokens = [*parsed, *(child for token in parsed for child in token.children or ())]
    return {
        re.sub(r">[^<]+<", "><", token.content.strip())
        if token.type.startswith("html")
        else str(token.attrs.get("href") or token.attrs.get("src"))
        for token in tokens
        if token.type in ("html_block", "html_inline", "link_open", "image")
    }


CHECKS: dict[Format, Callable[[str, str], None]] = {
    Format.json: assert_json,
    Format.sarif: assert_valid_json,
    Format.gitlab: assert_valid_json,
    Format.badge: assert_valid_json,
    Format.junit: assert_xml,
    Format.github: assert_annotations,
    Format.html: assert_page,
    Format.markdown: lambda shown, _: assert_markdown(Format.markdown, shown),
    Format.github_summary: lambda shown, _: assert_markdown(Format.github_summary, shown),
}
