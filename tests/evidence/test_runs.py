"""Runs by name, and folders of runs, which are no program."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from xladoctor.evidence.load import load
from xladoctor.evidence.pod_runs import is_run, members
from xladoctor.evidence.runs import locate, refuse_several, runs_below
from xladoctor.ingest.interface import IngestError
from xladoctor.recording.interface import RUNS


def made(place: Path, began_s: int, script: str = "train.py", verdict: str = "") -> Path:
    """A run directory as far as names and lists go by it."""
    (place / "process-1").mkdir(parents=True)
    (place / "process-1" / "process.json").write_text("{}")
    manifest = {
        "tool": {"name": "xladoctor"},
        "command": ["python", script],
        "script": script,
        "cwd": "/src",
        "began_ns": began_s * 10**9,
    }
    (place / "run.json").write_text(json.dumps(manifest))
    if verdict:
        diagnosis = {"steps": {"count": 40}, "verdict": {"text": verdict}}
        (place / "diagnosis.json").write_text(json.dumps(diagnosis))
    return place


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs in the working directory, whose names are not in the order of their dates."""
    monkeypatch.chdir(tmp_path)
    made(Path(RUNS) / "b", 200, "sub/train.py", "half of the loop was spent compiling graphs")
    made(Path(RUNS) / "a", 300, "evaluate.py")
    made(Path(RUNS) / "c", 100)
    return Path(RUNS)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("last", "a"),
        ("last~0", "a"),
        ("last~1", "b"),
        ("last~2", "c"),
        ("train.py", "b"),
        ("train", "b"),
        ("train~1", "c"),
        ("evaluate.py", "a"),
        ("c", "c"),
        ("/src/sub/train.py", "b"),
        ("/src/train.py", "c"),
    ],
)
def test_runs_have_names(runs: Path, word: str, name: str) -> None:
    assert locate(word) == str(runs / name)


def test_what_exists_is_meant_itself_but_for_scripts(runs: Path) -> None:
    Path("last").write_text("a report of somebody")
    Path("train.py").write_text("import torch")
    Path("out.py").mkdir()
    assert (locate("last"), locate("train.py")) == ("last", str(runs / "b"))
    assert locate("out.py") == "out.py"


@pytest.mark.parametrize(
    ("word", "what"),
    [
        ("last~3", "last~3: there are only 3 runs of that name in xladoctor-runs/"),
        ("evaluate.py~1", "evaluate.py~1: there is only 1 run of that name in xladoctor-runs/"),
        ("tran.py", "tran.py: no such file or directory"),
    ],
)
def test_what_is_no_run_is_said(runs: Path, word: str, what: str) -> None:
    with pytest.raises(IngestError) as caught:
        locate(word)
    assert caught.value.what == what


def test_script_that_has_not_run_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my train.py").touch()
    with pytest.raises(IngestError) as caught:
        locate("my train.py")
    assert caught.value.what == "my train.py: no run of it in xladoctor-runs/"
    assert caught.value.hint == "to make one: xladoctor run 'my train.py'"


@pytest.mark.parametrize("folder", [RUNS, "."])
def test_folder_of_runs_is_listed_the_newest_first(runs: Path, folder: str) -> None:
    with pytest.raises(IngestError) as caught:
        load(folder)
    assert caught.value.what == f"{folder}: 3 runs; a report is about one"
    lines = caught.value.hint.splitlines()
    assert [line for line in lines if not line.startswith(" ")][:3] == [
        f"{RUNS}/a",
        f"{RUNS}/b",
        f"{RUNS}/c",
    ]
    assert "40 steps" in lines[lines.index(f"{RUNS}/b") + 1]
    assert lines[lines.index(f"{RUNS}/b") + 2] == "    half of the loop was spent compiling graphs"
    assert f"to read one of them: xladoctor analyze {RUNS}/a" in lines


def test_folder_of_one_run_is_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made(Path(RUNS) / "a", 100)
    assert locate(RUNS) == str(Path(RUNS) / "a")


def test_several_runs_and_other_evidence_are_not_mixed(runs: Path) -> None:
    Path("report.txt").write_text("Counter: MarkStep\n  Value: 3\n")
    for words in ([f"{RUNS}/a", f"{RUNS}/b"], ["last", "last~1"]):
        with pytest.raises(IngestError, match="2 runs; a report is about one"):
            load(words)
    with pytest.raises(IngestError, match="a run cannot be combined"):
        load(["last", "report.txt"])


@pytest.mark.parametrize("began_s", [-(10**30), -1, 2**200, 10**400])
def test_run_of_an_impossible_date_is_listed(tmp_path: Path, began_s: int) -> None:
    made(tmp_path / "a", began_s)
    made(tmp_path / "b", 200)
    with pytest.raises(IngestError, match="2 runs"):
        refuse_several([tmp_path])


def test_folders_may_be_as_deep_as_a_file_system_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path / "a", 200)
    monkeypatch.chdir(tmp_path)
    for _ in range(1500):
        Path("d").mkdir()
        os.chdir("d")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IngestError, match="1 run"):
        refuse_several([tmp_path])
    subprocess.run(["rm", "-r", "d"], check=True)  # deeper than Python removes


def test_programs_of_one_command_are_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = Path(RUNS) / "one"
    made(whole / "1-train", 100)
    made(whole / "2-evaluate", 100, "evaluate.py")
    (whole / "run.json").write_text('{"command": ["bash", "all.sh"], "script": "all.sh"}')
    assert locate("last") == str(whole / "2-evaluate")
    assert locate("last~1") == str(whole / "1-train")
    with pytest.raises(IngestError, match="2 runs; a report is about one"):
        load(str(whole))


def test_other_files_of_that_name_are_no_runs(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"id": 7}')
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "run.json").write_text("[1]")
    refuse_several([tmp_path])


def test_runs_of_a_pod_are_one(runs: Path) -> None:
    for host in ("a", "b", "b-2"):
        made(runs / "pod" / f"host-{host}", 400)
    made(runs / "first", 500)
    made(runs / "first" / "host-b", 501)
    assert members(runs / "pod") == [runs / "pod" / f"host-{host}" for host in ("a", "b", "b-2")]
    assert members(runs / "first") == [runs / "first", runs / "first" / "host-b"]
    assert members(runs / "a") == members(runs) == []
    assert [run.path.name for run in runs_below(runs)] == ["first", "pod", "a", "b", "c"]
    assert [locate("last"), locate("last~1")] == [str(runs / "first"), str(runs / "pod")]
    assert is_run(runs / "first")
    assert not is_run(runs / "pod")
    with pytest.raises(IngestError, match="runs of 3 hosts; name one of them"):
        load(str(runs / "pod"))
