"""Paths from the root of the repository, and the line that a platform shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.diagnoses import SICK
from tests.support import finding, location
from xladoctor.diagnosis.interface import RunFacts
from xladoctor.report.places import path_in_repository, path_shown, primary

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
