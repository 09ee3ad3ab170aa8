"""What the capture lost of what the program did, apart from notes of less weight."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ingest.test_run_directory import MANIFEST, add_process, write
from xladoctor.diagnosis.facts import run as facts
from xladoctor.evidence.load import load
from xladoctor.recording import manifest
from xladoctor.recording.interface import RunDirectory
from xladoctor.recording.manifest import inventory

FAULT = "Traceback (most recent call last):\n  …\nOSError: No space left on device\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory with two processes."""
    write(tmp_path / "run.json", MANIFEST)
    add_process(tmp_path, 42)
    add_process(tmp_path, 43)
    return tmp_path


def lost(run: Path) -> list[str]:
    evidence = load(str(run))
    incomplete = facts(evidence).incomplete
    assert incomplete == list(evidence.lost)
    return incomplete


def test_whole_run_lost_nothing(run: Path) -> None:
    assert lost(run) == []


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("process-43/faults.log", FAULT, "the capture switched itself off: OSError: No space"),
        ("process-43/process.json", "{", "the process is left out"),
        ("process-43/steps.jsonl", '{"event": "st', "line 1: cut off"),
        ("process-43/call_sites.json", "{", "lines of reads are missing"),
        ("process-43/metrics.txt", "nothing", "metrics.txt: "),
        ("python.log", "44 1 fault ImportError: no\n", "process 44 could not be captured"),
        ("run.json", {**MANIFEST, "ended": None}, "the run was cut short"),
    ],
    ids=lambda value: value if isinstance(value, str) and "/" in value else "",
)
def test_what_is_missing_of_any_process_is_lost(
    run: Path, file: str, content: object, said: str
) -> None:
    write(run / file, content)
    (text,) = [note for note in lost(run) if said in note]
    assert text


def test_process_that_was_cut_short_lost_its_end(run: Path) -> None:
    add_process(run, 43, ended=False)
    (text,) = lost(run)
    assert text.startswith("process-43: the process was cut short")


def test_torn_analysis_log_loses_causes_but_no_compilation(run: Path) -> None:
    log = run / "process-43" / "analysis.log"
    log.write_text(log.read_text(encoding="utf-8") + "Compilation Analysis: Compilation Cause\n")
    assert any("torn" in note for note in load(str(run)).notes)
    assert lost(run) == []


@pytest.mark.parametrize(("status", "lost_one"), [(0, True), (1, False)])
def test_exception_is_said_where_the_program_s_status_hides_it(
    run: Path, status: int, lost_one: bool
) -> None:
    add_process(run, 43, uncaught="ValueError")
    write(run / "run.json", {**MANIFEST, "ended": {"status": status, "signal": None, "seconds": 2}})
    said = "process-43: the process ended with an uncaught exception: ValueError"
    assert lost(run) == [said] * lost_one


# Where the launcher was killed, and run.json has no list of files


def listed(run: Path, pid: int, *names: str) -> None:
    """A process whose own record has the sizes of these of its files."""
    paths = [f"process-{pid}/{name}" for name in names]
    add_process(run, pid, files={path: (run / path).stat().st_size for path in paths})


def test_what_is_cut_off_from_what_a_process_listed_is_lost(run: Path) -> None:
    listed(run, 43, "steps.jsonl", "metrics.txt")
    assert lost(run) == []
    log = run / "process-43" / "steps.jsonl"
    log.write_text("")
    (run / "process-43" / "metrics.txt").unlink()
    evidence = load(str(run))
    assert [note.partition("process-43/")[2][:30] for note in evidence.lost] == [
        "steps.jsonl: is cut off after ",
        "metrics.txt: is gone; its cont",
    ]
    assert {"step", "metric"} <= evidence.cut.keys()


def test_what_the_run_listed_is_said_once(run: Path) -> None:
    listed(run, 43, "steps.jsonl")
    log = run / "process-43" / "steps.jsonl"
    files = {"process-43/steps.jsonl": log.stat().st_size}
    write(run / "run.json", {**MANIFEST, "files": files})
    log.write_text("")
    assert len(lost(run)) == 1


# Files of the same size that are not what they were


def listed_with_checksums(run: Path) -> None:
    write(run / "run.json", {**MANIFEST, **inventory(run)})


def blanked(data: bytes) -> bytes:
    """The same lines, of which one in the middle is blank."""
    lines = data.splitlines(keepends=True)
    middle = len(lines) // 2
    lines[middle] = b" " * (len(lines[middle]) - 1) + b"\n"
    return b"".join(lines)


@pytest.mark.parametrize("hole", [blanked, lambda data: bytes(len(data))], ids=["blank", "zeros"])
def test_a_hole_is_lost_though_the_size_is_the_same(
    run: Path, hole: Callable[[bytes], bytes]
) -> None:
    listed_with_checksums(run)
    assert lost(run) == []
    log = run / "process-43" / "steps.jsonl"
    log.write_bytes(hole(log.read_bytes()))
    evidence = load(str(run))
    assert evidence.lost[0].endswith(
        "process-43/steps.jsonl: has changed since the run (its checksum differs); some of it may"
        " be lost"
    )
    assert "step" in evidence.cut


def test_a_file_that_has_grown_is_not_held_against_its_checksum(run: Path) -> None:
    listed_with_checksums(run)
    metrics = run / "process-43" / "metrics.txt"
    metrics.write_text("\n" + metrics.read_text())
    assert lost(run) == []


def test_process_that_still_runs_may_write_its_files_again(run: Path) -> None:
    environment = {"XLADOCTOR_RUN_DIRECTORY": str(run)}
    with subprocess.Popen(["sleep", "600"], env=environment) as running:
        # Linux shows the variables of a program a moment after it has started it.
        while not Path(f"/proc/{running.pid}/environ").read_bytes():
            pass
        own = run / f"process-{running.pid}"
        (run / "process-43").rename(own)
        listed = inventory(run)
        running.kill()
    assert {Path(name).parts[0] for name in listed["crc32"]} == {"process-42"}
    assert f"{own.name}/steps.jsonl" in listed["files"]
    assert f"{own.name}/steps.jsonl" in inventory(run)["crc32"]


@pytest.mark.parametrize(
    "name", ["../secret", "process-43/../../secret", "link", "./python.log", "/proc/version"]
)
def test_checksums_of_files_elsewhere_are_not_compared(run: Path, name: str) -> None:
    (run.parent / "secret").write_text("hunter2")
    (run / "link").symlink_to("../secret")
    (run / "python.log").write_text("")
    size = (run / name).stat().st_size
    write(run / "run.json", {**MANIFEST, "files": {name: size}, "crc32": {name: 1}})
    assert not [note for note in lost(run) if "checksum differs" in note]


@pytest.mark.parametrize("name", ["../secret", "process-43/../../secret", "link", "/proc/version"])
def test_sizes_of_files_elsewhere_are_not_shown(run: Path, name: str) -> None:
    (run.parent / "secret").write_text("hunter2")
    (run / "link").symlink_to("../secret")
    write(run / "run.json", {**MANIFEST, "files": {name: 1000}})
    assert lost(run) == [f"{run / name}: is gone; its content is lost"]


@pytest.mark.parametrize("key", ["session", "began_ns", "files"])
def test_an_entry_of_the_manifest_that_is_gone_is_said(run: Path, key: str) -> None:
    record = {**MANIFEST, "session": "a", "began_ns": 1, **inventory(run)}
    manifest.write(RunDirectory(run), record)
    assert lost(run) == []
    written = json.loads((run / "run.json").read_text())
    del written[key]
    write(run / "run.json", written)
    assert lost(run) == [
        f"{run / 'run.json'}: has changed since the run (its checksum differs); what it says may"
        " be wrong"
    ]
