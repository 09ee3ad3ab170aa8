"""A finding's patch in reports, in place of its rule's fix."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from tests.report.diagnoses import SICK
from tests.report.formats import rendered
from tests.support import finding, location
from xladoctor.diagnosis.finding import Suggestion
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.report.detail import Detail
from xladoctor.report.interface import Report, Style
from xladoctor.report.next_command import next_command
from xladoctor.report.terminal import render

LONG = "\n".join(
    ["--- a/train.py", "+++ b/train.py", "@@ -40,3 +40,30 @@", " model.train()"]
    + [f"+    line_{number} = {'x' * number}" for number in range(30)]
)
SHORT = "\n".join(LONG.splitlines()[:6])


def patch(diff: str = SHORT, file: str = "train.py", behaviour: str = "") -> Suggestion:
    return Suggestion("sum `total` on the device", file, [], diff, behaviour, ["it is a number"])


def diagnosis(*patches: Suggestion | None) -> Diagnosis:
    """Findings of one rule, each with its patch."""
    findings = [
        finding(
            fingerprint=f"XD201-{number}",
            locations=[location(line=10 + number)],
            fix="Read it seldom.",
            suggestion=patch,
        )
        for number, patch in enumerate(patches)
    ]
    return replace(SICK, findings=findings)


def terminal(made: Diagnosis, style: Style | None = None) -> str:
    output = io.StringIO()
    render([Report(made)], output, style or Style(80))
    return output.getvalue()


WHOLE = Style(80, detail=Detail(verbose=True))


def test_a_patch_takes_the_place_of_the_fix() -> None:
    text = terminal(diagnosis(patch()), WHOLE)
    assert "fix  Sum `total` on the device. It assumes: it is a number." in text
    assert "    @@ -40,3 +40,30 @@\n     model.train()\n    +    line_0 =\n" in text
    assert "+++" not in text  # the file is named above
    assert "Read it seldom." not in text
    assert "more lines" not in text


def test_what_is_different_afterwards_is_said() -> None:
    text = terminal(diagnosis(patch(behaviour="line 10 prints no more")))
    assert "Afterwards, line 10 prints no more." in text


def test_the_file_is_named_if_it_is_another() -> None:
    assert "    +++ b/train.py\n" in terminal(diagnosis(patch(file="data.py")), WHOLE)


def test_a_long_patch_is_cut_unless_all_is_to_be_shown() -> None:
    made = diagnosis(patch(LONG))
    cut = terminal(made)
    assert "+    line_5 = " in cut
    assert "line_6" not in cut
    assert "    … 24 more lines: xladoctor fix runs/2026-01-05-train\n" in cut
    whole = terminal(made, WHOLE)
    assert "+    line_29 = " in whole
    assert "more lines:" not in whole


@pytest.mark.parametrize("width", [50, 80])
def test_long_lines_are_cut(width: int) -> None:
    line = f"+    total = {'very_long_name + ' * 9}1"
    text = terminal(diagnosis(patch(f"{SHORT}\n{line}")), Style(width, unicode=False))
    (cut,) = (each.rstrip() for each in text.splitlines() if "very_long_name" in each)
    assert len(cut) == width
    assert cut.endswith("...")


@pytest.mark.parametrize("width", [50, 80])
def test_in_the_full_report_long_lines_are_broken_and_nothing_is_lost(width: int) -> None:
    line = f"+    total = {'very_long_name + ' * 9}1"
    style = Style(width, unicode=False, detail=Detail(verbose=True))
    text = terminal(diagnosis(patch(f"{SHORT}\n{line}")), style)
    assert all(len(each) <= width for each in text.splitlines() if "xladoctor" not in each)
    assert line.replace(" ", "") in "".join(text.split())


def test_a_fix_is_shown_once_for_those_without_a_patch() -> None:
    text = terminal(diagnosis(patch(), None, None, patch()), WHOLE)
    assert text.count("Sum `total` on the device.") == 2
    assert text.count("Read it seldom.") == 1


def test_the_next_command_tries_the_patch() -> None:
    tried = ("to try the patch on a copy", "xladoctor fix --verify runs/2026-01-05-train")
    assert next_command(diagnosis(patch())) == tried
    assert next_command(diagnosis(None)) == ("for an example of the fix", "xladoctor explain XD201")


def test_markdown_and_the_page_show_all_of_it() -> None:
    reports = [Report(diagnosis(patch(LONG, behaviour="it is <b>rounded</b>")))]
    markdown = rendered("markdown", reports)
    assert f"```diff\n{LONG}\n```" in markdown
    assert "**Fix** Sum `total` on the device" in markdown
    page = rendered("html", reports)
    assert '<span class="now">+    line_29' in page
    assert "it is &lt;b&gt;rounded&lt;/b&gt;" in page
    assert 'class="diff" data-copy' in page
    assert "Read it seldom." not in markdown + page


def test_json_has_the_patch() -> None:
    (made,) = json.loads(rendered("json", [Report(diagnosis(patch()))]))["findings"]
    assert made["suggestion"]["diff"] == SHORT
    assert made["fix"] == "Read it seldom."


@pytest.mark.parametrize("name", ["sarif", "junit", "gitlab"])
def test_formats_of_platforms_show_no_patch_that_changes_behaviour(name: str) -> None:
    changing = [Report(diagnosis(patch(behaviour="it is rounded")))]
    assert rendered(name, changing) == rendered(name, [Report(diagnosis(None))])
