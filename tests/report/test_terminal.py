"""The whole report on a terminal."""

from __future__ import annotations

import ast
import io
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.diagnoses import SICK, TEXT
from tests.report.snapshots import assert_as_before
from tests.support import finding, location
from xladoctor.diagnosis.finding import Cost, NotChecked, Saving, Suggestion
from xladoctor.diagnosis.interface import (
    Diagnosis,
    Steps,
    StepsAt,
    TimeParts,
    TimeSpent,
    Unexplained,
)
from xladoctor.diagnosis.pictures.interface import Pictures
from xladoctor.facts.parts import PARTS
from xladoctor.foreign import harmless
from xladoctor.report.detail import Detail
from xladoctor.report.interface import Report, Style
from xladoctor.report.terminal import render

SNAPSHOTS = Path(__file__).parent / "snapshots"
CONTROL = re.compile(r"\x1b\[[0-9;]*m")
CASES = {
    f"{name}-{width}{'' if unicode else '-ascii'}": (diagnosis, Style(width, unicode=unicode))
    for name, diagnosis in (("sick", SICK), ("text", TEXT))
    for width in (50, 80, 120)
    for unicode in (True, False)
} | {
    "sick-80-color": (SICK, Style(80, color=True)),
    "sick-80-verbose": (SICK, Style(80, detail=Detail(verbose=True))),
    "sick-80-top": (SICK, Style(80, detail=Detail(top=99))),
}


def rendered(diagnosis: Diagnosis, style: Style) -> str:
    output = io.StringIO()
    render([Report(diagnosis)], output, style)
    return output.getvalue()


def columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in CONTROL.sub("", line))


@pytest.mark.parametrize("name", CASES)
def test_report_is_as_it_was(name: str) -> None:
    text = rendered(*CASES[name])
    assert_as_before(SNAPSHOTS / f"{name}.txt", text)


def test_ignored_findings_are_listed_on_request() -> None:
    assert "ignored at" not in rendered(SICK, Style(120))
    listed = rendered(SICK, Style(120, detail=Detail(ignored=True)))
    assert "  XD202 ignored at train.py:70: logged on purpose\n" in listed
    assert "  XD202 ignored at train.py:71: no reason given\n" in listed


def test_verbose_names_each_rule_that_was_not_evaluated_and_the_values_of_causes() -> None:
    usual, verbose = (
        rendered(SICK, Style(120)),
        rendered(SICK, Style(120, detail=Detail(verbose=True))),
    )
    whole = "XD401 not evaluated: no counters (metrics report or step log)"
    assert whole in verbose
    assert whole not in usual
    healthy = rendered(replace(SICK, findings=[]), Style(120))
    assert "not evaluated: no counters (1)" in healthy
    known = replace(SICK, findings=[finding(cause={"parameter": 3, "op": None}, example="a = 1")])
    text = rendered(known, Style(120, detail=Detail(verbose=True)))
    assert "      parameter: 3\n" in text
    assert "op:" not in text
    assert "\n      a = 1\n" in text
    assert "parameter: 3" not in rendered(known, Style(120))


def test_rule_that_failed_is_told_in_full() -> None:
    failed = NotChecked("ACME1", "its query failed: no such column, line 3", failed=True)
    text = rendered(replace(SICK, not_checked=[failed, *SICK.not_checked]), Style(120))
    assert "ACME1 not evaluated: its query failed: no such column, line 3" in text


def test_top_leaves_out_findings_and_says_so() -> None:
    text = rendered(SICK, Style(120, detail=Detail(top=1)))
    assert text.count("    fix  ") == 1
    assert "\n3 more in full: --verbose\n" in text


def test_where_something_is_to_be_fixed_the_report_keeps_to_it() -> None:
    evidence = ["longest operations", "labels  ", "not evaluated: ", "model.py:52", "median step"]
    usual = rendered(SICK, Style(80))
    assert [text for text in evidence if text in usual] == []
    assert "  in full: xladoctor analyze runs/2026-01-05-train -v\n" in usual
    little = finding(severity="info", saving=Saving(1e-6, None, None, "estimate"))
    for findings in ([], [little]):
        nothing = rendered(replace(SICK, findings=findings), Style(80))
        short = ("median step", "time that no finding explains: ", "busy ", "not evaluated: ")
        assert [text for text in short if text not in nothing] == []
        assert "    fix  " not in nothing
    whole = rendered(replace(SICK, findings=[]), Style(80, detail=Detail(verbose=True)))
    assert [text for text in evidence if text not in whole and text != "not evaluated: "] == []


def test_where_nothing_is_to_be_fixed_the_fix_that_saves_most_is_shown() -> None:
    findings = [
        finding(rule, severity="info", fix=f"Do {rule}.", saving=Saving(s, None, None, "bound"))
        for rule, s in (("XD310", 0.5), ("XD504", 2.0))
    ]
    text = rendered(replace(SICK, findings=findings), Style(80))
    assert "    fix  Do XD504.\n" in text
    assert "Do XD310." not in text
    assert "median step" not in text


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("fix", ["Do this. " * 40, ""])
def test_up_to_three_findings_fit_a_screen(count: int, fix: str) -> None:
    lines = "\n".join(f"+    line_{number} = loss" for number in range(30))
    patch = (
        None if fix else Suggestion("sum", "train.py", [], f"--- a\n+++ b\n@@ @@\n-loss\n{lines}")
    )
    findings = [
        finding(f"XD20{number}", fix=fix, suggestion=patch, message="A cause. " * 30)
        for number in range(count)
    ]
    ended = replace(SICK, findings=findings, warnings=[], run=replace(SICK.run, signal=None))
    text = rendered(ended, Style(80))
    assert len(text.splitlines()) <= 24


def test_compiling_that_no_finding_explains_is_what_comes_next() -> None:
    compiled = Unexplained("warmup_compile", 9.0, [])
    time = replace(SICK.time, unexplained=[compiled])
    of_run = "next, for what was compiled: xladoctor compilations runs/2026-01-05-train\n"
    assert of_run in rendered(replace(SICK, time=time), Style(80))
    little = replace(SICK.time, unexplained=[replace(compiled, seconds=1.0)])
    assert "xladoctor compilations" not in rendered(replace(SICK, time=little), Style(80))


def test_what_is_shown_is_the_first_finding_to_fix() -> None:
    findings = [
        finding("XD1", severity="info", fix="Pad."),
        finding("XD3", fix="Sum."),
        finding("XD4", fix="Sync."),
    ]
    text = rendered(replace(SICK, findings=findings), Style(80))
    assert re.findall(r"    fix  (.*)", text) == ["Sum."]
    assert re.findall(r"^ (\d)  ", text, re.MULTILINE) == ["2"]


@pytest.mark.parametrize(
    ("overall", "limited"),
    [("device", "limited by the device"), ("host", "limited by the device, with this fix alone")],
)
def test_a_saving_is_the_same_in_the_list_and_in_full(overall: str, limited: str) -> None:
    saving = Saving(5.4, None, 0.54, "estimate", limited_by="device")
    costly = finding(cost=Cost(6.2, 0.62, "bound"), saving=saving)
    other = finding("XD202", fix="Sum.")
    verdict = replace(SICK.verdict, limited_by=overall)
    known = replace(SICK, findings=[costly, other], verdict=verdict)
    assert " saves 5.4 s\n" in rendered(known, Style(200))
    text = rendered(known, Style(200, detail=Detail(verbose=True)))
    assert "costs at most 6.2 s (62% of the run); a fix saves about 5.4 s; 40 times" in text
    assert f"fixed: the loop 10 s → 4.6 s (estimate); then {limited}\n" in text


def test_findings_with_the_same_fix_are_one_thing_to_do() -> None:
    findings = [
        finding(fix="Sum.", locations=[location("a.py", line=3)], message="First."),
        finding(fix="Pad.", locations=[location("a.py", line=5)]),
        finding(fix="Sum.", locations=[location("b.py", line=4)], message="Second."),
    ]
    text = rendered(replace(SICK, findings=findings), Style(80, detail=Detail(verbose=True)))
    assert re.findall(r"    fix  (.*)", text) == ["Sum.", "Pad."]
    assert re.search(r"a\.py:3.*First\..*b\.py:4.*Second\..*fix  Sum\.", text, re.DOTALL)
    assert " (2 lines)\n" in text
    listed = rendered(replace(SICK, findings=findings), Style(80))
    assert re.search(r"^ 1 warning .* a\.py:3 \+1 +saves ≤ 2\.4 s$", listed, re.MULTILINE)


def test_steps_are_drawn_with_what_compiled() -> None:
    verbose = Style(140, detail=Detail(verbose=True))
    (line,) = [x for x in rendered(SICK, verbose).splitlines() if "median step" in x]
    drawn = line.split()[0]
    assert len(drawn) == len(SICK.step_groups)
    assert [n for n, block in enumerate(drawn) if block == "█"] == [
        n for n, group in enumerate(SICK.step_groups) if group.compile_ms > group.longest_ms / 2
    ]
    alike = [replace(group, longest_ms=5.0, compile_ms=0.0) for group in SICK.step_groups]
    assert (
        "compiling"
        not in rendered(replace(SICK, step_groups=alike), verbose).split("median")[1][:40]
    )


def test_steps_that_end_at_two_lines_have_a_median_each() -> None:
    ends = [StepsAt("/job/train.py", 20, 5, 50.0), StepsAt("/job/train.py", 10, 1_200, 2.0)]
    verbose = Style(140, detail=Detail(verbose=True))
    text = rendered(replace(SICK, steps=Steps(1_205, 3, 2.1, ends)), verbose)
    assert (
        "1,205 steps, 3 of them warm-up: 5 end at train.py:20 (median 50 ms),"
        " 1,200 end at train.py:10 (median 2 ms);"
    ) in " ".join(text.split())
    assert "median step" not in text


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_lines_are_within_the_width(name: str) -> None:
    diagnosis, style = CASES[name]
    for line in rendered(diagnosis, style).splitlines():
        assert columns(line) <= style.width, line


@pytest.mark.parametrize("name", CASES)
def test_no_line_ends_in_blanks_and_the_text_ends_with_one_line_end(name: str) -> None:
    diagnosis, style = CASES[name]
    text = rendered(diagnosis, replace(style, color=False))
    assert [line for line in text.splitlines() if line != line.rstrip()] == []
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("width", [20, 50, 80, 120])
def test_ascii_output_is_ascii(width: int) -> None:
    assert rendered(SICK, Style(width, unicode=False)).isascii()


def test_colours_change_nothing_but_colours() -> None:
    colored = rendered(SICK, Style(80, color=True))
    lines = [line.rstrip() for line in CONTROL.sub("", colored).splitlines()]
    assert lines == rendered(SICK, Style(80)).splitlines()
    assert "\x1b[1;31merror" in colored


def test_no_escape_sequence_without_colours() -> None:
    assert "\x1b" not in rendered(SICK, Style(80))


@pytest.mark.parametrize(
    "value", ["\x1b[2J", "\x1b]0;title\x07", "a\rb", "[bold]x[/bold]", ":warning:"]
)
def test_text_of_the_program_is_shown_and_not_obeyed(value: str) -> None:
    hostile = finding(
        message=f"before {value} after",
        title=f"Odd {value}",
        locations=[location(f"a{value}b.py", source=f"x = '{value}'")],
    )
    text = rendered(replace(SICK, findings=[hostile]), Style(80))
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\x07" not in text
    if value.isprintable():
        assert text.count(value) >= 4


#: How the parts are drawn in ASCII, in the order of reports.
DRAWN = "_w#x=oiusdt.?-:"


@settings(max_examples=50, deadline=None)
@given(st.integers(20, 140), st.lists(st.floats(0, 5), min_size=15, max_size=15))
def test_bar_is_as_wide_as_the_report_and_in_proportion(width: int, seconds: list[float]) -> None:
    total = sum(seconds)
    if total < 0.01:
        return
    parts = {f"{name}_s": part for name, part in zip(PARTS, seconds, strict=True)}
    time = TimeSpent(None, total, TimeParts(**parts), 0.0)
    style = Style(width, unicode=False, detail=Detail(verbose=True))
    lines = rendered(replace(TEXT, time=time), style).splitlines()
    bar = next(line for line in lines if line and set(line) <= set(DRAWN))

    assert len(bar) == min(width, 100)
    large = sum(part for part in seconds if part >= 0.005 * total)
    for character, part in zip(DRAWN, seconds, strict=True):
        share = part / large if part >= 0.005 * total else 0.0
        assert abs(bar.count(character) - share * len(bar)) <= 1


def test_nothing_comes_after_a_loop_where_no_steps_are_known() -> None:
    assert SICK.steps is not None
    whole = Style(80, detail=Detail(verbose=True))
    assert "after the loop 300 ms" in rendered(SICK, whole)
    without = rendered(replace(SICK, steps=None, step_groups=[]), whole)
    assert "exit 300 ms" in without
    assert "after the loop" not in without


LINK = re.compile(r"\x1b\]8;([^\x1b]*)\x1b\\")


def test_lines_of_files_that_are_here_are_links_where_the_terminal_follows_them(
    tmp_path: Path,
) -> None:
    for name in ("größe 1.py", "a.py"):
        (tmp_path / name).touch()
    places = [location(name, 41) for name in ("größe 1.py", "a.py", "gone.py", "x\0")]
    seen = replace(
        SICK,
        run=replace(SICK.run, cwd=str(tmp_path)),
        findings=[finding(locations=[place]) for place in places],
    )
    detail = Detail(verbose=True)
    drawn = rendered(seen, Style(80, color=True, links=True, detail=detail))
    targets = [found.split(";", 1)[1] for found in LINK.findall(harmless(drawn, colored=True))]
    here = tmp_path.as_uri()
    assert targets == [
        f"{here}/gr%C3%B6%C3%9Fe%201.py#41",
        "",
        f"{here}/a.py#41",
        "",
    ]
    assert LINK.sub("", drawn) == rendered(seen, Style(80, color=True, detail=detail))


def test_code_that_is_wider_than_the_report_is_whole_and_still_code() -> None:
    line = f"y = x{'.squeeze().div(2)' * 6}.cpu()"
    found = replace(SICK, findings=[finding(fix=f"{line} in place of line 41.")])

    text = rendered(found, Style(60)).partition("fix  ")[2].partition(" in place")[0]

    assert ast.dump(ast.parse(" ".join(text.split()))) == ast.dump(ast.parse(line))


@given(st.text(max_size=20))
def test_what_a_program_prints_is_no_link(text: str) -> None:
    assert "\x1b]" not in harmless(f"\x1b]8;;http://{text}\x1b\\", colored=True)


def test_lines_around_are_shown_where_there_is_room() -> None:
    around = {"train.py:41": [(40, "    for x in y:"), (41, "        loss.item()")]}
    seen = replace(
        SICK,
        findings=[finding(locations=[location("train.py", source="loss.item()")])],
        pictures=Pictures(excerpts=around),
    )
    assert "\n        40 │ for x in y:\n    >   41 │     loss.item()\n" in rendered(
        seen, Style(120, detail=Detail(verbose=True))
    )
    narrow = rendered(seen, Style(80, detail=Detail(verbose=True)))
    assert "for x in y" not in narrow
    assert "    │ loss.item()\n" in narrow
