"""Run directories that somebody else made: nothing of the reader's machine is in what they say, and
no secret that they hold.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.test_run_directory import MANIFEST, RECORD, SITES, add_process, write
from xladoctor.evidence.load import load
from xladoctor.evidence.source import source_line
from xladoctor.ingest.interface import IngestError
from xladoctor.ingest.regular import open_text

PRIVATE = "hunter2 = 'of the reader'"
LATER = 1 << 62  # nanoseconds: any file is older
TOKEN = "glpat-" + "x9Y8z7W6v5U4t3S2r1Q0"
SITE = SITES["sites"][0]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the reader is: a repository with a program, and a file beside it that is private."""
    home = tmp_path / "home" / "repository"
    (home / ".git").mkdir(parents=True)
    for file in (home / "train.py", home / ".env", tmp_path / "private.py"):
        file.write_text(f"import this\n{PRIVATE}\n")
    (home / "link.py").symlink_to(tmp_path / "private.py")
    (home / "folder").symlink_to(tmp_path)
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def run(tmp_path: Path, home: Path) -> Path:
    """A run of the reader's own."""
    path = tmp_path / "run"
    origin = {"began_ns": LATER, "root": str(home), "cwd": str(home)}
    write(path / "run.json", {**MANIFEST, **origin})
    add_process(path, 42, host=socket.gethostname(), cwd=str(home))
    return path


def text_of(run: Path, file: Path) -> str | None:
    return source_line(load(str(run)), str(file), 2)


def test_line_of_one_s_own_program_is_read(run: Path, home: Path) -> None:
    assert text_of(run, home / "train.py") == PRIVATE


def test_line_that_holds_a_secret_is_read_without_it(run: Path, home: Path) -> None:
    (home / "train.py").write_text(f'\nlogin("{TOKEN}")\n')
    assert text_of(run, home / "train.py") == 'login("…")'


@pytest.mark.parametrize(
    "file",
    [
        ".env",
        "link.py",
        "folder/private.py",
        "../../private.py",
        "folder",
        "missing.py",
        "/etc/passwd",
        "\0.py",
    ],
)
def test_other_files_are_not_read(run: Path, home: Path, file: str) -> None:
    assert text_of(run, home / file) is None


@pytest.mark.parametrize("key", ["root", "cwd", "host"])
def test_files_are_not_read_for_a_run_of_elsewhere(run: Path, home: Path, key: str) -> None:
    manifest = json.loads((run / "run.json").read_text())
    if key == "host":
        add_process(run, 42, host="elsewhere", cwd=str(home))
    elif key == "root":
        write(run / "run.json", {**manifest, "root": "/home/ada"})
    else:
        write(run / "run.json", {**manifest, "root": None, "cwd": "/home/ada"})
    assert text_of(run, home / "train.py") is None


# Links


@pytest.mark.parametrize(
    "name",
    [
        "faults.log",
        "call_sites.json",
        "steps.jsonl",
        "metrics.txt",
        "analysis.log",
        "host_samples.json",
        "processor.jsonl",
        "modules.xplane.pb",
        "process.json",
    ],
)
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_link_in_a_process_folder_is_noted_and_not_followed(
    run: Path, tmp_path: Path, name: str, kind: str
) -> None:
    add_process(run, 43)
    file = run / "process-42" / name
    content = file.read_text() if file.exists() else PRIVATE
    file.unlink(missing_ok=True)
    (tmp_path / "target").write_text(content)
    if kind == "link":
        file.symlink_to(tmp_path / "target")
    else:
        os.mkfifo(file)
    evidence = load(str(run))
    assert any(note.startswith(f"{file}: ") for note in evidence.notes)
    assert PRIVATE not in str([evidence.notes, evidence.lost])
    assert evidence.database.scalar("SELECT count(*) FROM process") >= 1


@pytest.mark.parametrize("name", ["sources.json", "python.log"])
def test_link_in_the_run_directory_is_not_followed(run: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "target").write_text(f"1 1 fault {PRIVATE}\n")
    (run / name).symlink_to(tmp_path / "target")
    (note,) = load(str(run)).notes
    assert note.startswith(f"{run / name}: cannot be read")
    assert "hunter2" not in note


def test_linked_manifest_is_an_error(run: Path, tmp_path: Path) -> None:
    (run / "run.json").rename(tmp_path / "target")
    (run / "run.json").symlink_to(tmp_path / "target")
    with pytest.raises(IngestError, match=r"run\.json: cannot be read: .*a link"):
        load(str(run))


def test_linked_folder_of_a_process_is_left_out(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "private-run"
    add_process(other, 43)
    (run / "process-43").symlink_to(other / "process-43")
    evidence = load(str(run))
    assert evidence.notes == (f"{run / 'process-43'}: a link or not a plain file; not read",)
    assert evidence.database.scalar("SELECT count(*) FROM process") == 1


@pytest.mark.parametrize("session", ["../../../private", "own"])
def test_timelines_outside_are_not_read(run: Path, tmp_path: Path, session: str) -> None:
    (tmp_path / "private").mkdir()
    outside = tmp_path / "private" / "vm_42.xplane.pb"
    outside.write_bytes(b"")
    folder = run / "plugins" / "profile"
    folder.mkdir(parents=True)
    (folder / "own").symlink_to(tmp_path / "private")
    taken = {
        "of_program": True,
        "ended_by": "the program",
        "session": session,
        "steps": 20,
        "file": outside.name,
        "begin_ns": 1,
        "end_ns": 2,
    }
    add_process(run, 42, windows=[taken])
    notes = load(str(run)).notes
    assert any("vm_42.xplane.pb: a link or not a plain file; not read" in note for note in notes)
    assert not any("the timeline cannot be read" in note for note in notes)


def test_run_directory_behind_a_link_is_read(run: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(run)
    assert load(str(tmp_path / "latest")).notes == load(str(run)).notes == ()


def test_folder_and_device_are_no_plain_files(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(OSError, match="not a regular file"):
            open_text(path)


# Secrets that an earlier capture, or a stranger's, wrote down


def test_secrets_of_a_run_are_left_out_as_it_is_read(run: Path) -> None:
    manifest = json.loads((run / "run.json").read_text())
    write(run / "run.json", {**manifest, "command": ["python", "--db-pass", TOKEN]})
    settings: dict[str, Any] = {"XLA_FLAGS": f"--x={TOKEN}", "PJRT_DEVICE": "CPU"}
    add_process(run, 42, settings={**RECORD["settings"], **settings})
    folder = run / "process-42"
    site = {**SITE, "source": f'login(token="{TOKEN}")'}
    write(folder / "call_sites.json", {**SITES, "sites": [site]})
    write(folder / "faults.log", f"Traceback (most recent call last):\nError: {TOKEN}")
    write(run / "python.log", f"1 1 fault Error('{TOKEN}')\n")
    write(run / "sources.json", [{"file": "a.py", "line": 1, "text": f"x = '{TOKEN}'"}])

    evidence = load(str(run))
    tables = [
        evidence.database.rows(f"SELECT * FROM {name}")
        for name in ("environment", "source_line", "capture_fault")
    ]
    told = str([evidence.origin, evidence.notes, evidence.lost, tables])
    assert TOKEN not in told
    assert told.count("…") >= 6
    assert evidence.manifest is not None
    assert evidence.manifest.command == ["python", "--db-pass", "…"]
