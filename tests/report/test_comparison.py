"""A whole comparison in each format."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, replace
from pathlib import Path

import jsonschema
import pytest

from tests.comparison.runs import captured, compared, lasting, told
from tests.report.diagnoses import MEMORY, SHARDINGS, SICK
from tests.report.drawn import drawn
from tests.report.snapshots import assert_as_before
from tests.report.test_html import Page, assert_safe
from tests.report.test_terminal import columns
from tests.support import finding, location
from xladoctor.comparison.interface import Comparison
from xladoctor.diagnosis.finding import NotChecked
from xladoctor.diagnosis.interface import Diagnosis, Steps
from xladoctor.diagnosis.memory_use import Memory
from xladoctor.report import comparison as terminal
from xladoctor.report import comparison_json, comparison_markdown
from xladoctor.report.html import comparison as comparison_html
from xladoctor.report.interface import Style

SNAPSHOTS = Path(__file__).parent / "comparison_snapshots"
HOSTILE = "\x1b[2J | <b>@ada</b> `x` #1 [a](b) größe"


def sick(a: Diagnosis, b: Diagnosis) -> Comparison:
    """Everything that a comparison can show at once."""
    with_reads = told([finding("XD203"), finding("XD301")])
    a = replace(with_reads, run=a.run, traits=a.traits, steps=Steps(43, 3, 10.0))
    findings = [
        *SICK.findings,
        finding(
            "XD503",
            name="frequent-checkpoint",
            title="Loop held up by saving",
            count=2,
            per_step=None,
            locations=[location("save.py", 9, function=None)],
        ),
    ]
    missing = [NotChecked("XD301", "no step log")]
    b = replace(SICK, run=b.run, traits=b.traits, findings=findings, not_checked=missing)
    step = MEMORY.programs[0]
    smaller = [replace(step.held[0], bytes=32 << 20), *step.held[2:]]
    a = replace(a, memory=Memory([replace(step, bytes=56 << 20, held=smaller)]))
    return compared(a, b)


def divided(run: Diagnosis) -> Comparison:
    """A run in which arguments were divided otherwise, and less moved, and one with SHARDINGS."""
    train, *others = SHARDINGS
    arrays = [replace(train.arrays[0], spec="(None, 'model')"), *train.arrays[1:]]
    moved = [*train.moved[1:], replace(train.moved[0], bytes=12 << 20)]
    was = [replace(train, arrays=arrays, moved=moved), *others]
    return compared(replace(run, shardings=was), replace(run, shardings=SHARDINGS))


A = captured([10.0, 10.1, 9.9, 10.2, 9.8] * 8)
B = captured([14.0, 14.1, 13.9, 14.2, 13.8] * 8)
OTHER = captured(
    [14.0] * 9,
    shapes=["f32[32,64]", "s64[7]"],
    process={"host": "größe"},
    command=["python", "train.py", "--lr", "3"],
    ended={"status": None, "signal": 9, "seconds": 1.0},
)
COMPARISONS = {
    "alike": compared(A, A),
    "slower": compared(A, B, max_slowdown=0.1),
    "sick": sick(A, OTHER),
    "divided": divided(A),
    "padded": compared(
        lasting(A, 20.0, 15.0), lasting(captured([14.0] * 40, shapes=["f32[16,96]"]), 2.0, 0.0)
    ),
    "programs": compared(A, captured([], script="b.py", process={"main": "/home/ada/b.py"})),
}
CASES = {
    f"{name}-{width}{'' if unicode else '-ascii'}": (comparison, Style(width, unicode=unicode))
    for name, comparison in COMPARISONS.items()
    for width, unicode in ((80, True), (50, True), (80, False))
} | {"sick-80-color": (COMPARISONS["sick"], Style(80, color=True))}


def rendered(comparison: Comparison, style: Style) -> str:
    output = io.StringIO()
    terminal.render(comparison, output, style)
    return output.getvalue()


def markdown(comparison: Comparison, style: Style | None = None) -> str:
    output = io.StringIO()
    comparison_markdown.render(comparison, output, style or Style())
    return output.getvalue()


def as_before(name: str, text: str) -> None:
    assert_as_before(SNAPSHOTS / name, text)


@pytest.mark.parametrize("name", CASES)
def test_comparison_is_as_it_was(name: str) -> None:
    as_before(f"{name}.txt", rendered(*CASES[name]))


@pytest.mark.parametrize("name", COMPARISONS)
def test_markdown_is_as_it_was(name: str) -> None:
    as_before(f"{name}.md", markdown(COMPARISONS[name]))


def test_every_snapshot_is_of_a_case() -> None:
    known = {f"{name}.txt" for name in CASES} | {f"{name}.md" for name in COMPARISONS}
    assert {path.name for path in SNAPSHOTS.glob("*")} == known


@pytest.mark.parametrize("name", CASES)
def test_lines_are_within_the_width_and_end_in_no_blank(name: str) -> None:
    comparison, style = CASES[name]
    for line in rendered(comparison, style).splitlines():
        assert columns(line) <= style.width, line
        assert style.color or line == line.rstrip()


@pytest.mark.parametrize("name", COMPARISONS)
def test_ordinary_comparison_is_one_screen(name: str) -> None:
    assert len(rendered(COMPARISONS[name], Style(80)).splitlines()) <= 48


def test_ascii_is_ascii_and_no_escape_without_colours() -> None:
    assert rendered(COMPARISONS["sick"], Style(80, unicode=False)).isascii()
    assert markdown(COMPARISONS["sick"], Style(unicode=False)).isascii()
    assert "\x1b" not in rendered(COMPARISONS["sick"], Style(80))


@pytest.mark.parametrize("name", COMPARISONS)
def test_json_is_valid_and_whole(name: str) -> None:
    output = io.StringIO()
    comparison_json.render(COMPARISONS[name], output, Style())
    loaded = json.loads(output.getvalue())
    jsonschema.Draft202012Validator.check_schema(comparison_json.schema())
    jsonschema.validate(loaded, comparison_json.schema(), jsonschema.Draft202012Validator)
    assert loaded == json.loads(json.dumps(asdict(COMPARISONS[name])))
    assert list(loaded) == [
        "schema_version",
        "tool",
        "a",
        "b",
        "verdict",
        "differences",
        "findings",
        "not_judged",
        "counts",
        "step",
        "status",
        "warnings",
        "tpu_graphs",
        "times",
        "memory",
        "shardings",
    ]


def hostile(number: int = 1) -> Comparison:
    bad = [
        finding(
            fingerprint=str(n),
            title=f"Odd {HOSTILE}",
            locations=[location(f"{n}{HOSTILE}.py", source=HOSTILE)],
        )
        for n in range(number)
    ]
    return compared(told(), told(bad))


def test_text_of_the_program_is_shown_and_not_obeyed() -> None:
    assert "\x1b" not in rendered(hostile(), Style(80))
    text = markdown(hostile())
    assert "\x1b" not in text
    assert "<b>" not in text.replace(r"\<b\>", "")
    assert "@ada" not in text
    row = next(line for line in text.splitlines() if "Odd" in line)
    assert row.replace(r"\|", "").count("|") == 5


def test_markdown_begins_with_its_mark_and_fits_a_comment() -> None:
    text = markdown(hostile(2000))
    assert text.startswith("<!-- xladoctor compare -->\n")
    assert 60_000 < len(text) <= 65_536
    assert text.endswith("shows everything.\n")
    assert text.rstrip().splitlines()[-3].endswith("|")


@pytest.mark.parametrize("name", COMPARISONS)
def test_page_is_safe_and_says_what_markdown_does(name: str) -> None:
    comparison = COMPARISONS[name]
    output = io.StringIO()
    comparison_html.render(comparison, [drawn(HOSTILE), drawn(HOSTILE)], output, Style())
    assert_safe(output.getvalue())
    text = Page(output.getvalue()).text
    ids = [a["id"] for _, a in Page(output.getvalue()).elements if "id" in a]
    assert len(ids) == len(set(ids))
    for said in (
        comparison.verdict.text,
        terminal.comparability(comparison),
        terminal.step_line(comparison),
        "Steps of A over time",
        "Findings in B",
        *(cell for row in terminal.time_rows(comparison) for cell in row),
        *(change.title for change in comparison.findings if change.state != "same"),
        *(difference.what for difference in comparison.differences if difference.what != "unknown"),
    ):
        assert " ".join(said.split()) in text


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (A, B, "verdict bad"),
        (told([finding("XD301")]), told([]), "verdict clean"),
        (A, A, "verdict"),
    ],
)
def test_page_shows_by_its_colour_whether_it_is_better(
    a: Diagnosis, b: Diagnosis, kind: str
) -> None:
    output = io.StringIO()
    comparison_html.render(compared(a, b, max_slowdown=0.1), [SICK, SICK], output, Style())
    classes = [attributes.get("class") or "" for _, attributes in Page(output.getvalue()).elements]
    assert [each for each in classes if each.startswith("verdict")] == [kind]


def test_page_has_its_parts_in_the_order_of_the_terminal() -> None:
    output = io.StringIO()
    comparison_html.render(COMPARISONS["padded"], [SICK, SICK], output, Style())
    ids = [attributes.get("id") for _, attributes in Page(output.getvalue()).elements]
    parts = ["changes", "times", "step"]
    assert [each for each in ids if each in parts] == parts
