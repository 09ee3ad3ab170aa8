"""The cleaner: what it escapes, what it leaves, and that nothing is lost in JSON and shells."""

from __future__ import annotations

import csv
import io
import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.corpus import HOSTILE
from xladoctor.foreign import as_json, clean, csv_lines, encodable, harmless, quoted
from xladoctor.report.markup import element, inline

TEXTS = st.text() | st.just(HOSTILE)


def test_clean() -> None:
    assert clean("größe 数据 \\") == "größe 数据 \\"
    assert clean("a\n\t\r\x1b\x9b\u202e\udcff\ud800") == r"a\n\t\r\x1b\u009b\u202e\xff\ud800"
    assert clean("a\n\tb\r", lines=True) == "a\n\tb\\r"


@given(text=TEXTS)
def test_what_is_clean_stays(text: str) -> None:
    assert clean(text).isprintable()
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", "\\::error::x"),
        ("a\n \t::x", "a\n \t\\::x"),
        ("a ::x", "a ::x"),
        ("a ##[error]x ##vso[x ## [", "a #\\#[error]x #\\#vso[x ## ["),
        ("\x1b[1mx\x1b]0;t\x07", "\\x1b[1mx\\x1b]0;t\\x07"),
    ],
)
def test_harmless(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_colours_and_commands_that_are_meant() -> None:
    assert harmless("\x1b[1;31mx\x1b[0m\x1b[2J", colored=True) == "\x1b[1;31mx\x1b[0m\\x1b[2J"
    assert harmless("::error::x\x1b", commands=True) == "::error::x\\x1b"


@settings(deadline=None)
@given(text=TEXTS, ascii_only=st.booleans())
def test_json_loses_nothing(text: str, ascii_only: bool) -> None:
    written = as_json({"a": [text]}, ascii_only=ascii_only)
    assert json.loads(written)["a"] == [encodable(text)]
    assert written.replace("\n", "").isprintable()
    assert written.isascii() or not ascii_only
    assert harmless(written) == written


@pytest.mark.parametrize(
    "word",
    [
        "a",
        "größe",
        "",
        "a b",
        "x; touch pwned #",
        "'\"\\",
        "\n\x1b\x7f",
        "##[error]'",
        "$(x)`x`",
        HOSTILE,
        "\\x41\n",
        "\u202e",
        "\U000e0001",
    ],
)
def test_a_shell_reads_the_same_words(word: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {quoted(word, 'end')}"],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert done.stdout.decode("utf-8", "surrogateescape").split("\0") == [word, "end", ""]
    assert harmless(f"again: {quoted(word)}") == f"again: {quoted(word)}"


def test_rows_of_csv_stay_rows() -> None:
    rows = [["a", "b"], ["::x", "1"], [" ::y", 'q"::"'], ["x\n::z\n", ""], ["", "\x1b,##[a]"]]
    given_ = io.StringIO()
    csv.writer(given_, lineterminator="\n").writerows(rows)
    written = "".join(csv_lines(io.StringIO(given_.getvalue())))
    assert harmless(written) == written
    assert list(csv.reader(io.StringIO(written))) == [
        ["a", "b"],
        ["::x", "1"],
        [" ::y", 'q"::"'],
        ["x\\n\\::z\\n", ""],
        ["", "\\x1b,#\\#[a]"],
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://x.example", "http:&#8203;//x.example"),
        ("www.x.example", "www&#8203;.x.example"),
        ("@ada", "@&#8203;ada"),
        ("#1", "\\#&#8203;1"),
        ("GH-1", "GH&#8203;-1"),
        ("at 0d1e2f3", "at 0&#8203;d1e2f3"),
        ("mailto:x", "mailto&#8203;:x"),
        ("!1", "\\!&#8203;1"),
        ("&1", "\\&&#8203;1"),
        ("$1", "\\$&#8203;1"),
        ("%a", "%&#8203;a"),
        ('%"a b"', '%&#8203;"a b"'),
        ("~_a", "\\~&#8203;\\_a"),
        ('~"a b"', '\\~&#8203;"a b"'),
        ("*iteration:1", "\\*&#8203;iteration:1"),
        ("[issue:1]", "\\[&#8203;issue:1\\]"),
        ("1234567 facade a: b // c", "1234567 facade a: b // c"),
        ("a! R&D f(*a) 5% ~/x f32[16,38]", "a\\! R\\&D f(\\*a) 5% \\~/x f32\\[16,38\\]"),
    ],
)
def test_nothing_becomes_a_link(text: str, shown: str) -> None:
    assert inline(text) == shown


def test_nor_in_an_element() -> None:
    assert element("<a> & ~b &1 !1") == "&lt;a&gt; &amp; ~&#8203;b &amp;&#8203;1 !&#8203;1"
