"""Paths from the root of the repository, and the line that a platform shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.diagnoses import SICK
from tests.report.formats import rendered
from tests.support import evidence, finding, location, step
from xladoctor.diagnosis.interface import RunFacts
from xladoctor.report.interface import Report, Style
from xladoctor.report.places import path_in_repository, path_shown, primary
from xladoctor.report.text import shortened
from xladoctor.repository import whole

RUN = RunFacts(
    "run",
    "a-run",
    command=["python", "train.py"],
    script="jobs/train.py",
    cwd="/code/jobs",
    root="/code",
)


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("train.py", "jobs/train.py"),
        ("./train.py", "jobs/train.py"),
        ("../model.py", "model.py"),
        ("/code/lib/model.py", "lib/model.py"),
        ("/code2/model.py", None),
        ("../../model.py", None),
        ("/home/ada/model.py", None),
        ("/code/.venv/lib/python3.11/site-packages/torch/nn.py", None),
        ("../venv/lib/python3.12/json/decoder.py", None),
        ("/usr/lib/python3/dist-packages/numpy/core.py", None),
        ("site-packages/a.py", None),
        ("<string>", None),
        ("<frozen runpy>", None),
        ("", None),
    ],
)
def test_path_is_from_the_root(file: str, path: str | None) -> None:
    assert path_in_repository(file, RUN) == path


def test_path_of_a_pasted_report_is_taken_as_it_is() -> None:
    pasted = RunFacts("text", "report.txt")
    assert path_in_repository("a/train.py", pasted) == "a/train.py"
    assert path_in_repository("../train.py", pasted) is None
    assert path_in_repository("/a/train.py", pasted) is None


def test_path_of_an_installed_file_is_its_packages() -> None:
    assert path_shown("/x/lib/python3.11/site-packages/torch/nn.py", RUN) == "torch/nn.py"
    assert path_shown("/usr/lib/python3.11/json/decoder.py", RUN) == "json/decoder.py"
    assert path_shown("/elsewhere/a.py", RUN) == "/elsewhere/a.py"


def test_first_line_in_the_repository_is_shown() -> None:
    library = location("/x/site-packages/lib.py", 3)
    diagnosis = replace(SICK, run=RUN)
    assert primary([library, location(line=9, role="caller")], diagnosis) == location(
        "jobs/train.py", 9, role="caller"
    )


def test_without_a_line_in_the_repository_it_is_the_main_script() -> None:
    place = primary([location("/x/site-packages/lib.py", 3)], replace(SICK, run=RUN))
    assert place is not None
    assert (place.file, place.line) == ("jobs/train.py", 1)


@pytest.mark.parametrize(
    ("command", "lines", "known"),
    [
        (["python", "/elsewhere/train.py"], [], False),
        (["python", "-m", "jobs.train"], ["/code/jobs/train.py"], True),
        (["torchrun", "train.py"], [], True),
    ],
)
def test_main_script_counts_only_where_something_shows_that_it_is_inside(
    command: list[str], lines: list[str], known: bool
) -> None:
    run = replace(RUN, command=command)
    findings = [finding(locations=[location(file)]) for file in lines]
    diagnosis = replace(SICK, run=run, findings=findings, counts=[])
    assert (primary([], diagnosis) is not None) == known


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/code/jobs/train.py", "train.py"),
        ("/code/jobs/deep/train.py", "deep/train.py"),
        ("/code/lib/model.py", "../lib/model.py"),
        ("/codes/model.py", "/codes/model.py"),
        (None, None),
    ],
)
def test_paths_in_the_project_are_relative(file: str | None, shown: str | None) -> None:
    made = evidence({"step": [step(0)]}, cwd="/code/jobs", root="/code")
    assert made.shown(file) == shown
    if file and shown:
        assert whole(shown, made.cwd) == file
        assert path_in_repository(shown, RUN) == path_in_repository(file, RUN)


@settings(deadline=None)
@given(
    st.lists(st.text("ab_", min_size=1, max_size=30), min_size=1, max_size=6),
    st.integers(1, 99_999),
    st.integers(1, 90),
    st.booleans(),
)
def test_cut_path_keeps_its_line_and_the_end_of_its_name(
    parts: list[str], line: int, room: int, unicode: bool
) -> None:
    whole = f"{'/'.join(parts)}.py:{line}"
    cut = shortened(whole, room, Style(unicode=unicode))
    assert cut.endswith(f".py:{line}")
    assert len(cut) <= max(room, 24)
    assert cut == whole or "…" in cut or "..." in cut
    assert len(whole) > room or cut == whole


def test_paths_of_all_formats_are_short() -> None:
    run = replace(
        RUN, command=["/v/bin/python", "/code/jobs/train.py"], script="/code/jobs/train.py"
    )
    library = location("/code/.venv/lib/python3.11/site-packages/nets/block.py", 7)
    known = replace(SICK, run=run, findings=[finding(locations=[library])])
    for name in ("terminal", "markdown", "html"):
        text = rendered(name, [Report(known)])
        assert "nets/block.py:7" in text
        assert "/code/.venv" not in text
        assert "/code/jobs" not in text


def test_paths_of_windows_are_outside_and_whole() -> None:
    own, library = r"C:\Users\me\train.py", r"C:\venv\Lib\site-packages\nets\block.py"
    pasted = RunFacts("text", "report.txt")
    for run in (RUN, pasted):
        assert path_in_repository(own, run) is None
        assert path_shown(own, run) == own
        assert path_shown(library, run) == "nets/block.py"
    known = [finding(locations=[location(file, 12)]) for file in (own, library)]
    report = Report(replace(SICK, run=pasted, findings=known))
    text = rendered("terminal", [report], Style(60))
    assert f" {own}:12" in text
    assert " nets/block.py:12" in text
    listed = [replace(each, fix=each.locations[0].file) for each in known]
    text = rendered("terminal", [replace(report, diagnosis=replace(SICK, findings=listed))])
    assert " train.py:12 " in text
    assert f"{own}:12" in rendered("html", [report])
    assert f"`{own}:12`" in rendered("markdown", [report])
