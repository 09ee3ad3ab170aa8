"""The page as text: what is in it, and what can never be."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from jinja2 import Environment

from tests.report.diagnoses import SICK, TEXT
from tests.report.drawn import drawn, series
from tests.report.formats import CASES, HOSTILE, hostile, rendered
from tests.support import finding
from xladoctor.diagnosis.example import Example
from xladoctor.diagnosis.finding import NO_SAVING, Cost, Saving
from xladoctor.diagnosis.interface import Verdict
from xladoctor.foreign import harmless
from xladoctor.report.html import page as module
from xladoctor.report.html.effect import Bar, effect, effects
from xladoctor.report.html.page import asset, in_order, longest
from xladoctor.report.interface import Report, Style

BAD = '</script><img src=x onerror="alert(1)"><style>*{}</style>\x1b[2J\u202e" \' `'


class Page(HTMLParser):
    """What a browser finds in a page: its elements, its words, its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        kind = self.lasttag if self.lasttag in self.inside and self.cdata_elem else None
        (self.inside[kind] if kind else self.words).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def policy(self) -> str:
        return next(
            a["content"] or ""
            for _, a in self.elements
            if a.get("http-equiv") == "Content-Security-Policy"
        )


def page(*reports: Report) -> Page:
    return Page(rendered("html", reports))


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def assert_safe(text: str) -> None:
    """Nothing runs or loads but the page's own script and style."""
    shown = Page(text)
    assert "default-src 'none'" in shown.policy
    assert "unsafe" not in shown.policy
    (style,) = shown.inside["style"]
    assert f"style-src {digest(style)};" in shown.policy
    for tag, attributes in shown.elements:
        assert tag not in {"img", "iframe", "object", "embed", "link", "base", "form"}
        assert not [
            name for name in attributes if name.startswith("on") or name in ("style", "src")
        ]
        assert (attributes.get("href") or "#").startswith("#")
    scripts = [a for tag, a in shown.elements if tag == "script"]
    run = [text for text, a in zip(shown.inside["script"], scripts, strict=True) if not a]
    assert all(f"script-src {digest(text)};" in shown.policy for text in run)


@pytest.mark.parametrize("case", CASES)
def test_page_loads_and_runs_nothing_but_its_own(case: str) -> None:
    text = rendered("html", CASES[case])
    assert_safe(text)
    assert text == rendered("html", CASES[case])
    assert text == harmless(text)  # else the digests would be of something else


def test_page_says_what_the_report_has() -> None:
    text = page(Report(SICK)).text
    for said in (
        SICK.verdict.text,
        "compile 5.6 s",
        "XD101",
        "data.py:88",
        "Pad each batch",
        "40 steps",
        "not evaluated: no counters",
        "encoder > größe",
        "forward größe",
        "2.9.0",
        "model.py:41",
        SICK.warnings[0],
    ):
        assert said in text, said


def test_sections_without_anything_to_say_are_absent() -> None:
    text = page(Report(TEXT)).text
    for title in ("Where the time went", "Labels", "Devices", "Counts"):
        assert title in page(Report(SICK)).text
        assert title not in text
    assert "No rule that could be judged found anything" in text


def test_page_of_a_healthy_program_says_so_first() -> None:
    text = "3% of the run's 9.2 s went to compiling graphs, 73% to start-up"
    healthy = replace(SICK, findings=[], verdict=Verdict("compilation", f"{text}; nothing to fix."))
    shown = page(Report(healthy))
    assert f"Nothing to fix. 2 of 3 rules could be judged and are clear. {text}." in shown.text
    assert "verdict clean" in [a.get("class") for _, a in shown.elements]
    for verdict in (
        TEXT.verdict,  # nothing is known
        Verdict("compilation", f"{text}; no rule has a fix for it."),
        Verdict("compilation", f"{text}; nothing to fix, with 2 rules switched off."),
    ):
        assert "Nothing to fix." not in page(Report(replace(healthy, verdict=verdict))).text


def test_findings_about_much_of_the_time_are_unfolded() -> None:
    much, little = (
        finding(severity="info", cost=Cost(share * 10, share, "bound"), saving=NO_SAVING)
        for share in (0.65, 0.03)
    )
    shown = page(Report(replace(SICK, findings=[little, little, much])))
    folds = [a for tag, a in shown.elements if tag == "details" and a.get("class") == "finding"]
    assert ["open" in fold for fold in folds] == [True, False, True]


def test_pictures_show_what_is_left_once_findings_are_fixed() -> None:
    step = Saving(4.0, 100.0, 0.4, "estimate", 200.0, 150.0, remaining_s=4.0)
    loop = Saving(5.0, 125.0, 0.5, "bound")
    one, two, three = (finding(saving=saving) for saving in (step, loop, NO_SAVING))
    assert effect(one, SICK) == [
        Bar("average step now", 0.2, 1.0),
        Bar("fixed", 0.15, 0.15 / 0.2),
    ]
    assert effect(two, SICK) == [
        Bar("the loop now", 10.0, 1.0),
        Bar("fixed", 5.0, 0.5, least=True),
    ]
    assert effect(three, SICK) == []
    assert effects(replace(SICK, findings=[one, two, three])) == []  # one picture is enough
    second = finding("XD101", saving=replace(step, remaining_s=3.0))
    assert effects(replace(SICK, findings=[one, second, two])) == [
        Bar("the loop now", 10.0, 1.0),
        Bar("XD201 fixed", 6.0, 0.6),
        Bar("XD101 too", 3.0, 0.3),
    ]
    labels = [bar.label for bar in effects(replace(SICK, findings=[one, one]))]
    assert labels[1:] == ["XD201 train.py:41 fixed", "XD201 train.py:41 too"]


def test_gate_decision_comes_first() -> None:
    text = page(*CASES["gated"]).text
    assert text.index("Gate failed: ") < text.index("start-up")
    assert SICK.verdict.text not in text  # it might say that nothing is to be fixed
    assert "known: in the baseline" in text
    assert "max_host_syncs_per_step" in text


def test_several_programs_have_ids_of_their_own() -> None:
    ids = [a["id"] for _, a in page(*CASES["several"]).elements if "id" in a]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("text", [BAD, "x" * 20_000])
def test_adversarial_text_is_shown_and_not_obeyed(text: str) -> None:
    bad = hostile(text)
    assert_safe(rendered("html", [bad]))
    shown = page(bad).text
    assert ("<img src=x onerror=" in shown) == (text == BAD)
    assert ("\\x1b[2J\\u202e" in shown) == (text == BAD)


@settings(max_examples=25, deadline=None)
@given(text=HOSTILE)
def test_whatever_a_program_says_stays_text(text: str) -> None:
    shown = rendered("html", [hostile(text)])
    assert_safe(shown)
    assert shown.encode()
    assert not [c for c in shown if not c.isprintable() and c not in "\n\t"]


def test_rule_that_others_wrote_is_text_too() -> None:
    rule = SICK.pack["XD101"]
    example = Example(before=BAD, after="a")
    pack = dict(SICK.pack) | {"XD101": rule.model_copy(update={"example": example})}
    assert_safe(rendered("html", [Report(replace(SICK, pack=pack))]))


def test_page_for_an_encoding_without_unicode_is_ascii() -> None:
    text = rendered("html", [Report(SICK)], Style(unicode=False))
    assert text.isascii()
    assert_safe(text)


def test_pictures_are_as_safe_and_stay_small() -> None:
    assert_safe(rendered("html", [Report(drawn(BAD))]))
    text = rendered("html", [Report(drawn(steps=30_000))])
    assert len(text.encode()) < 3_000_000
    assert "var uPlot=" in text
    assert "var uPlot=" not in rendered("html", [Report(TEXT)])


@pytest.mark.parametrize("count", [3, 50, 51, 30_000])
def test_steps_are_a_table_too(count: int) -> None:
    steps = series(count, read=700, python=2000)
    rows = in_order(steps)
    assert len(rows) <= 50
    assert rows[0]["steps"].split("–")[0] == "0"
    assert rows[-1]["steps"].split("–")[-1] == str(count - 1)
    assert sum(row["compilations"] for row in rows) == sum(steps.compilations)
    assert max(row["longest"] for row in rows) == max(steps.longest) / 1e6
    for row in rows:
        assert row["mean"] == pytest.approx(sum(row["parts"].values()))
        assert row["parts"]["read"] == pytest.approx(700e-6)
    assert [row["longest"] for row in longest(steps)] == (
        [] if count <= 50 else sorted((us / 1e6 for us in steps.longest), reverse=True)[:20]
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(scheme: str) -> None:
    shades = [
        dict(re.findall(r"--(\w+): (#\w+)", part)) for part in asset("page.css").split("@media")
    ]
    colours = shades[0] if scheme == "light" else shades[0] | shades[1]
    pairs = [(text, on) for text in ("fg", "dim", "link", "warn", "bad") for on in ("bg", "soft")]
    pairs += [("fg", on) for on in ("mark", "named", "badbg", "goodbg", "infobg")]
    pairs += [(text, f"{text}bg") for text in ("bad", "warn", "info", "good")]
    low = {pair: contrast(*(colours[name] for name in pair)) for pair in pairs}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


def contrast(one: str, other: str) -> float:
    """The ratio of two colours' luminances, as the guidelines for accessible pages define it."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        shares = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_library_comes_with_its_licence() -> None:
    text = rendered("html", [Report(drawn())])
    assert "The MIT License" in text
    assert "Leon Sorokin" in text


def test_templates_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def written() -> str:
        module._environment.cache_clear()
        return rendered("html", [Report(SICK)])

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = written()
    kept = [*(tmp_path / "xladoctor" / "templates").iterdir()]
    with monkeypatch.context() as context:
        context.setattr(Environment, "compile", None)
        assert written() == first
    for file in kept:
        file.write_bytes(file.read_bytes()[:40])
    assert written() == first, "what is damaged is made anew"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    assert written() == first, "where nothing can be kept"
