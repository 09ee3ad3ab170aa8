"""Whole reports on the samples, and on parts of them, as terminals of two widths show them."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import pytest

from tests.report.snapshots import assert_as_before
from xladoctor.diagnosis.engine import diagnose
from xladoctor.diagnosis.interface import Diagnosis
from xladoctor.diagnosis.pack import load_rules
from xladoctor.doctor import load_evidence
from xladoctor.report.interface import Report, Style
from xladoctor.report.terminal import render

ROOT = Path(__file__).parents[2]
SNAPSHOTS = Path(__file__).parent / "sample_snapshots"
FOLDERS = sorted(path for path in (ROOT / "sample_traces").iterdir()
                 if path.is_dir() and path.name != "programs")  # fmt: skip
SAMPLES = {path.name: f"sample_traces/{path.name}" for path in FOLDERS}
#: What somebody may send: a report, a log, a timeline.
PARTS = {"metrics": "metrics.txt", "log": "analysis.log", "timeline": "*.xplane.pb"}
SICK = ROOT / "sample_traces" / "scalar_read"
PATHS = SAMPLES | {
    name: str(next(path for path in SICK.rglob(pattern) if path.name != "modules.xplane.pb")
              .relative_to(ROOT))
    for name, pattern in PARTS.items()
}  # fmt: skip


@cache
def diagnosis(path: str) -> Diagnosis:
    return diagnose(load_evidence(path), load_rules())


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", PATHS)
def test_report_is_as_it_was(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # paths are shown as they are given
    output = io.StringIO()
    render([Report(diagnosis(PATHS[name]))], output, Style(width))
    assert_as_before(SNAPSHOTS / f"{name}-{width}.txt", output.getvalue())


@pytest.mark.parametrize("name", ["recompiling", "missing_lowering", "scalar_read"])
def test_first_screen_says_what_where_how_much_and_what_to_do(name: str) -> None:
    output = io.StringIO()
    render([Report(diagnosis(PATHS[name]))], output, Style(80))
    screen = "\n".join(output.getvalue().splitlines()[:24])
    first = diagnosis(PATHS[name]).findings[0]
    line = f"{first.locations[0].file}:{first.locations[0].line}"
    for shown in (first.title, line, "costs ", "fixed: ", "    why  ", "    fix  "):
        assert shown in screen


def test_every_snapshot_is_of_a_case() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*")} == {
        f"{name}-{width}" for name in PATHS for width in (80, 120)
    }
