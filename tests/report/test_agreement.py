"""Numbers of a report agree: with each other, with the whole, and between formats."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pytest

from tests.report.captured import NAMES, diagnosis
from tests.report.formats import rendered
from xladoctor.report.detail import Detail
from xladoctor.report.html.page import explained
from xladoctor.report.interface import Report, Style
from xladoctor.report.words import cost_of, sentence

pytestmark = [
    pytest.mark.xdist_group("captured"),  # one worker makes each diagnosis once
    pytest.mark.parametrize("name", NAMES),
]


def test_parts_and_explanations_add_up_to_the_whole(name: str) -> None:
    time = diagnosis(name).time
    if time.parts is None:
        return
    parts = asdict(time.parts)
    others = sum(parts[f"{part}_s"] for part in ("startup", "after", "capture"))
    of_loop = sum(parts.values()) - others
    assert sum(parts.values()) == pytest.approx(time.whole_s, rel=1e-6)
    assert of_loop == pytest.approx(time.loop_s, rel=1e-6)
    assert time.explained is not None
    explained = asdict(time.explained)
    share = explained.pop("share")
    assert sum(explained.values()) <= time.whole_s * (1 + 1e-6)
    assert share == pytest.approx(min(1.0, sum(explained.values()) / time.whole_s), abs=1e-3)
    for row in time.unexplained:
        assert row.seconds <= parts[f"{row.part}_s"] * (1 + 1e-6)
        assert sum(line.seconds for line in row.lines) <= row.seconds + 1e-3


def test_nothing_costs_or_saves_more_than_the_time_that_it_is_a_part_of(name: str) -> None:
    made = diagnosis(name)
    whole = made.time.whole_s
    for finding in made.findings:
        cost, saving = finding.cost, finding.saving
        if cost.seconds is None or not whole:
            continue
        assert cost.seconds <= whole
        assert cost.share == pytest.approx(cost.seconds / whole)
        if saving.seconds is not None:
            assert saving.seconds <= cost.seconds * (1 + 1e-6) or cost.basis == "least"
            assert saving.seconds <= (made.time.loop_s or whole) or saving.outside_loop


def test_steps_are_as_many_wherever_they_are_counted(name: str) -> None:
    made = diagnosis(name)
    if made.steps is None:
        return
    groups, pictures = made.step_groups, made.pictures
    assert made.steps.warmup <= made.steps.count
    assert sum(group.count for group in groups) in (0, made.steps.count)
    if pictures and pictures.steps:
        assert sum(pictures.steps.counts) == made.steps.count
    median = made.steps.median_ms
    if median is not None and not made.steps.ends:
        assert median <= max(group.longest_ms for group in groups) * (1 + 1e-6)


def test_steps_that_are_drawn_are_those_of_the_chart(name: str) -> None:
    pictures = diagnosis(name).pictures
    if not pictures or not pictures.steps or not pictures.shown:
        return
    series = pictures.steps
    row_of = {first: row for row, first in enumerate(series.first)}
    compiling = [first for first, row in row_of.items() if series.compilations[row]]
    for shown in pictures.shown:
        if "the first step that compiled" in shown.titles:
            assert shown.step == compiling[0]
        if "the slowest step" in shown.titles and set(series.counts) == {1}:
            assert series.longest[row_of[shown.step]] >= 0.9 * max(series.longest)


def test_page_accounts_for_no_more_than_it_names(name: str) -> None:
    made = diagnosis(name)
    shares = dict(explained(made))
    if not shares:
        return
    lines = [at.seconds for row in made.time.unexplained for at in row.lines if row.part != "after"]
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-3)
    assert shares["lines named below"] == pytest.approx(sum(lines) / made.time.whole_s)


def test_page_knows_what_a_finding_counted(name: str) -> None:
    made = diagnosis(name)
    reads = [each for each in made.findings if made.pack[each.rule].events == "host_syncs"]
    rows = re.findall(r'host reads</th><td class="n">([^<]*)', rendered("html", [Report(made)]))
    assert ("not known" in rows) <= all(each.per_step is None for each in reads)


def test_formats_have_the_same_findings_and_savings(name: str) -> None:
    made = diagnosis(name)
    reports = [Report(made)]
    count = len(made.findings)
    as_json = json.loads(rendered("json", reports))
    markdown, page = rendered("markdown", reports), rendered("html", reports)
    terminal = rendered("terminal", reports, Style(1_000, detail=Detail(verbose=True)))
    (run,) = json.loads(rendered("sarif", reports))["runs"]
    noted = run["invocations"][0].get("toolExecutionNotifications", [])
    placeless = [note for note in noted if "associatedRule" in note]
    assert len(as_json["findings"]) == len(run["results"]) + len(placeless) == count
    assert len(re.findall(r"^<summary><b>(?:error|warning|info)", markdown, re.MULTILINE)) == count
    assert len(re.findall(r'<details class="finding"', page)) == count
    for finding, same in zip(made.findings, as_json["findings"], strict=True):
        assert same["saving"]["seconds"] == finding.saving.seconds
        if cost := cost_of(finding, made):
            said = sentence(cost)
            assert said in markdown
            assert said.removesuffix(".").casefold() in terminal.casefold()
