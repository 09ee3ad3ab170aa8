"""Texts of lines that the first diagnosis left in the run directory."""

from __future__ import annotations

import json
import os
import shutil
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ROOT
from xladoctor.evidence.interface import Evidence
from xladoctor.evidence.load import load
from xladoctor.evidence.source import is_unchanged, source_line
from xladoctor.recording.interface import RUNS

ELSEWHERE = "/samples/programs/not_here.py"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "sample_traces" / "scalar_read", tmp_path / "run"))


def loaded(run: Path, content: str) -> Evidence:
    (run / "sources.json").write_text(content, encoding="utf-8")
    return load(str(run))


def test_line_of_a_file_that_is_not_here_has_its_text(run: Path) -> None:
    row = {"file": ELSEWHERE, "line": 7, "text": "    x = y  # größe"}
    evidence = loaded(run, json.dumps([row]))
    assert source_line(evidence, ELSEWHERE, 7) == "    x = y  # größe"
    assert source_line(evidence, ELSEWHERE, 8) is None


@pytest.mark.parametrize("inside", [True, False], ids=["in its folder", "elsewhere"])
def test_source_is_found_from_another_folder_by_the_run_in_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    project, reader = tmp_path / "project", tmp_path / "reader"
    folder = project / RUNS / "one" if inside else tmp_path / RUNS / "one"
    shutil.copytree(ROOT / "sample_traces" / "scalar_read", folder)
    for place in (project, reader):
        place.mkdir(exist_ok=True)
    (project / "train.py").write_text("first\nsecond\n")
    manifest = json.loads((folder / "run.json").read_text())
    manifest |= {"cwd": str(project), "began_ns": time.time_ns()}
    (folder / "run.json").write_text(json.dumps(manifest))
    monkeypatch.chdir(reader)
    evidence = load(str(folder))
    host = evidence.database.scalar("SELECT any_value(host) FROM process")
    monkeypatch.setattr("socket.gethostname", lambda: host)
    line = source_line(evidence, str(project / "train.py"), 2)
    assert line == ("second" if inside else None)


def test_a_file_is_compared_by_its_text_where_that_was_recorded(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("x = 1\n")  # later than the run
    assert not is_unchanged(load(str(run)), str(file))
    for sites in run.rglob("call_sites.json"):
        record = json.loads(sites.read_text())
        record["files"] = [{"file": str(file), "sha256": sha256(file.read_bytes()).hexdigest()}]
        sites.write_text(json.dumps(record))
    evidence = load(str(run))
    assert is_unchanged(evidence, str(file))
    file.write_text("x = 2\n")
    os.utime(file, (0, 0))
    assert not is_unchanged(evidence, str(file))


@pytest.mark.parametrize(
    "content", ["", "[", "{}x", "[1]", '[{"file": "a"}]', '[{"line": "b"}]', "null"]
)
def test_damaged_file_is_a_note_and_loses_nothing_else(run: Path, content: Any) -> None:
    evidence = loaded(run, content)
    assert any("sources.json: cannot be read" in note for note in evidence.notes)
    assert evidence.database.scalar("SELECT count(*) FROM step") > 0
