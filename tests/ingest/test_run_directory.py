"""Run directories: whole, cut short, damaged, and with files of others in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.torch_xla.test_analysis_log import block_text
from tests.support import rows
from xladoctor.ingest.interface import Ingested, IngestError
from xladoctor.ingest.run_directory import read_run_directory
from xladoctor.ingest.run_records import Manifest

LOG = Path(__file__).parent / "torch_xla" / "analysis_logs" / "torch_xla_2.9.log"
MANIFEST = {
    "command": ["python", "train.py"],
    "cwd": "/home/ada",
    "began_ns": 5,
    "ended": {"status": 0, "signal": None, "seconds": 2.5},
}
RECORD: dict[str, Any] = {
    "pid": 42,
    "rank": None,
    "host": "vm",
    "frontend": "torch_xla",
    "used_device": True,
    "versions": {"torch": "2.9.0", "torch_xla": "2.9.0", "python": "3.11.7"},
    "devices": ["TPU:0", "TPU:1"],
    "ended": True,
    "main": "/home/ada/train.py",
    "cwd": "/home/ada",
    "began_ns": 10,
    "ended_ns": 20,
    "settings": {"XLA_IR_DEBUG": "1", "PJRT_DEVICE": "TPU"},
    "settings_lines": {"XLA_IR_DEBUG": ["/home/ada/train.py", 2, "<module>"]},
    "folders": {"standard": [], "installed": []},
    "no_analysis_log": None,
}
STEP = {
    "event": "step",
    "thread": 1,
    "main": True,
    "index": 0,
    "steps": 1,
    "end_ns": 90,
    "duration_ns": 50,
    "barrier_ns": 5,
    "compile_ns": 0,
    "capture_ns": 0,
    "executions": 1,
    "compilations": 0,
    "reads": [[0, "item", 0, 1, 9, 0]],
    "input": [0, 0],
    "uploads": [],
    "optimizers": [[0, 1]],
    "log": 0,
    "traced": False,
    "probed": False,
    "site": 0,
    "counters": {"MarkStep": 2},
}
SITES: dict[str, Any] = {
    "sites": [
        {
            "file": "/home/ada/train.py",
            "line": 9,
            "function": "train",
            "user_file": None,
            "user_line": None,
            "user_function": None,
            "via": "",
            "source": "t.item()",
        }
    ],
    "files": [{"file": "/home/ada/train.py", "sha256": "0f"}],
    "fallbacks": [
        {"op": "aten::nonzero", "site": 0, "count": 2, "duration_ns": 9, "compile_ns": 4}
    ],
}
METRICS = "Counter: MarkStep\n  Value: 7\n"


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content) + "\n")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run directory with one process."""
    write(tmp_path / "run.json", MANIFEST)
    add_process(tmp_path, 42)
    return tmp_path


def add_process(run: Path, pid: int, **changes: Any) -> Path:
    folder = run / f"process-{pid}"
    write(folder / "process.json", {**RECORD, "pid": pid, **changes})
    write(folder / "steps.jsonl", STEP)
    write(folder / "call_sites.json", SITES)
    write(folder / "metrics.txt", METRICS)
    write(folder / "analysis.log", LOG.read_text(encoding="utf-8"))
    return folder


def read(run: Path) -> Ingested:
    return read_run_directory(run)[1]


def table(ingested: Ingested, name: str) -> list[dict[str, Any]]:
    return rows(ingested.tables[name])


# Whole runs


def test_whole_run_fills_every_table_and_leaves_no_note(run: Path) -> None:
    manifest, ingested = read_run_directory(run)

    assert isinstance(manifest, Manifest)
    assert manifest.command == MANIFEST["command"]
    assert ingested.notes == []
    assert {name: len(table(ingested, name)) for name in ingested.tables} == {
        "process": 1,
        "version": 3,
        "environment": 2,
        "source_file": 1,
        "source_line": 1,
        "fallback": 1,
        "step": 1,
        "step_period": 1,
        "host_sync": 1,
        "data_wait": 0,
        "transfer": 0,
        "optimizer": 0,
        "fallback_count": 0,
        "upload": 0,
        "state_save": 0,
        "outlier": 0,
        "cut": 0,
        "enclosing_loop": 0,
        "capture_fault": 0,
        "other_name": 0,
        "compilation": 5,
        "execution": 7,
        "metric": 0,
        "counter": 1,
        "ignore_comment": 0,
        "empty_pass": 0,
        "kept_graph": 0,
        "idle_optimizer": 0,
    }


def test_nothing_is_known_of_flattening_where_no_capture_timed_it(run: Path) -> None:
    assert "flattening" not in read_run_directory(run)[1].tables
    add_process(run, 43, flattening=True)
    assert read_run_directory(run)[1].tables["flattening"] == {}


def test_process_with_its_devices_and_settings(run: Path) -> None:
    ingested = read(run)

    (process,) = table(ingested, "process")
    assert (process["pid"], process["device_kind"], process["devices"]) == (42, "TPU", 2)
    settings = [(row["name"], row["set_by"], row["line"]) for row in table(ingested, "environment")]
    assert settings == [("XLA_IR_DEBUG", "program", 2), ("PJRT_DEVICE", "environment", None)]


def test_process_without_devices_is_of_the_kind_that_was_asked_for(run: Path) -> None:
    add_process(run, 42, devices=[])
    (process,) = table(read(run), "process")
    assert (process["device_kind"], process["devices"]) == ("TPU", 0)


def test_time_of_a_fallback_is_without_what_it_compiled(run: Path) -> None:
    (row,) = table(read(run), "fallback")
    assert (row["duration_ns"], row["compile_ns"], row["line"]) == (5, 4, 9)


def test_processes_are_numbered_in_order(run: Path) -> None:
    add_process(run, 43)
    ingested = read(run)
    assert [(p["process"], p["pid"]) for p in table(ingested, "process")] == [(0, 42), (1, 43)]
    assert [row["process"] for row in table(ingested, "counter")] == [0, 1]
    assert [row["process"] for row in table(ingested, "step")] == [0, 1]


def test_files_that_are_not_of_the_capture_change_nothing(run: Path) -> None:
    before = read(run)
    write(run / "notes.txt", "mine")
    write(run / "process-old", "a file, no folder")
    write(run / "process-42" / "core.1234", "\x00")
    write(run / "process-42" / "analysis-mine.log", "mine")
    write(run / "diagnosis.json", "{}")
    assert read(run) == before


# Cut short


@pytest.mark.parametrize("name", ["call_sites.json", "metrics.txt", "analysis.log", "steps.jsonl"])
def test_process_that_lacks_a_file_is_read_without_it(run: Path, name: str) -> None:
    (run / "process-42" / name).unlink()
    assert len(table(read(run), "process")) == 1


def test_missing_step_log_is_no_evidence_about_steps(run: Path) -> None:
    (run / "process-42" / "steps.jsonl").unlink()
    assert "step" not in read(run).tables
    assert "host_sync" not in read(run).tables


def test_without_a_report_the_counters_of_the_step_log_are_used(run: Path) -> None:
    assert [row["value"] for row in table(read(run), "counter")] == [7]
    (run / "process-42" / "metrics.txt").unlink()
    assert [row["value"] for row in table(read(run), "counter")] == [2]


def test_run_and_process_that_were_killed_say_so(run: Path) -> None:
    write(run / "run.json", {**MANIFEST, "ended": None})
    add_process(run, 42, ended=False, used_device=False)

    ingested = read(run)

    assert ingested.notes == [
        "process-42: the process was cut short; its last moments and the source lines that are"
        " written at its end are missing",
        f"{run / 'run.json'}: the run was cut short; its end is missing",
    ]
    assert len(table(ingested, "step")) == 1


def test_reason_for_a_missing_analysis_log_is_told(run: Path) -> None:
    add_process(run, 42, no_analysis_log="the program set PT_XLA_DEBUG_FILE itself")
    ingested = read(run)
    assert ingested.notes == [
        "process-42: no analysis log: the program set PT_XLA_DEBUG_FILE itself"
    ]
    assert "execution" not in ingested.tables


FAULT = "Traceback (most recent call last):\n  …\nValueError: odd\n"


@pytest.mark.parametrize("text", [FAULT, FAULT.ljust(4096), f"{FAULT}\n{FAULT}"])
def test_fault_of_the_capture_is_a_row_not_a_note(run: Path, text: str) -> None:
    log = run / "process-42" / "faults.log"
    write(log, text)
    ingested = read(run)
    assert table(ingested, "capture_fault") == [
        {"process": 0, "text": "ValueError: odd", "log": str(log)}
    ]
    assert ingested.notes == []


@pytest.mark.parametrize("text", ["", "\n", " " * 4096])
def test_empty_log_of_faults_is_no_fault(run: Path, text: str) -> None:
    write(run / "process-42" / "faults.log", text)
    ingested = read(run)
    assert ingested.tables["capture_fault"] == {}
    assert ingested.notes == []


def test_fault_log_of_any_bytes_is_told(run: Path) -> None:
    (run / "process-42" / "faults.log").write_bytes(b"OSError: \xff\xfe" + b" " * 4000)
    (row,) = table(read(run), "capture_fault")
    assert row["text"] == "OSError: \ufffd\ufffd"


# Limits of the capture


WINDOW = {
    "begin_ns": 100,
    "steps": 60,
    "end_ns": 200,
    "ended_by": "step limit",
    "bytes": 5000,
    "stop_ns": 7,
    "session": "s",
    "file": "vm_42.xplane.pb",
    "write_ns": 3,
}
OPEN_WINDOW = {"begin_ns": 300, "steps": 2}


def test_windows_of_the_profiler_are_rows(run: Path) -> None:
    add_process(run, 42, windows=[WINDOW, OPEN_WINDOW])
    ingested = read(run)
    assert table(ingested, "capture_window") == [
        {
            "process": 0,
            "of_program": False,
            "session": "s",
            "begin_ns": 100,
            "end_ns": 200,
            "steps": 60,
            "ended_by": "step limit",
            "bytes": 5000,
            "stop_ns": 7,
            "write_ns": 3,
        },
        {
            "process": 0,
            "of_program": False,
            "session": None,
            "begin_ns": 300,
            "end_ns": None,
            "steps": 2,
            "ended_by": None,
            "bytes": None,
            "stop_ns": None,
            "write_ns": None,
        },
    ]
    assert ingested.notes == []


@pytest.mark.parametrize("size", [12_000_000, 90_000_000])
def test_timeline_that_its_size_ended_far_from_the_limit_is_noted(run: Path, size: int) -> None:
    window = {**WINDOW, "ended_by": "size limit", "bytes": size, "steps": 11}
    add_process(run, 42, windows=[window])
    write(run / "run.json", {**MANIFEST, "options": {"trace_bytes": 100_000_000}})
    notes = [note for note in read(run).notes if "12 of the 100 MB of --trace-bytes" in note]
    assert len(notes) == (size < 50_000_000)
    assert all("the timeline ended after 11 steps" in note for note in notes)


@pytest.mark.parametrize("too_large", [True, False])
def test_modules_that_were_left_out_are_told(run: Path, too_large: bool) -> None:
    add_process(run, 42, modules_too_large=too_large)
    told = [note for note in read(run).notes if "would exceed --trace-bytes" in note]
    assert len(told) == too_large
    assert all(note.startswith("process-42: the modules of later") for note in told)


def test_program_that_hung_is_told_with_the_files_that_say_where(run: Path) -> None:
    write(
        run / "run.json",
        {**MANIFEST, "ended": {"status": None, "signal": 15, "seconds": 90.2, "timeout_s": 90.0}},
    )
    for pid in (43, 42):
        write(run / f"stacks-{pid}.txt", "MainThread …")
    assert read(run).notes == [
        f"{run}: stopped by --timeout after 90 s; where its threads stood:"
        " stacks-42.txt, stacks-43.txt"
    ]


def test_run_that_is_a_part_of_another_was_not_cut_short(run: Path) -> None:
    write(run / "run.json", {**MANIFEST, "ended": None, "part_of": "out"})
    assert read(run).notes == []


def test_long_analysis_log_in_parts_is_read_as_one(run: Path) -> None:
    """What the log lost between its parts is timed all the same, and pairs nothing else."""
    folder = run / "process-42"
    first, later, last = (block_text("Compilation", graph) for graph in ("aa", "bb", "cc"))
    begin = 6_000_000
    write(folder / "analysis-0.log", first)
    write(folder / f"analysis-{begin}.log", later)
    write(folder / "analysis.log", last)
    ends = [len(first), 5_000_000, begin + len(later), begin + len(later) + len(last)]
    lines = []
    for index, end in enumerate(ends):
        lines.append(
            {
                "event": "compile",
                "thread": 1,
                "step": index,
                "site": 0,
                "end_ns": index,
                "during": "barrier",
                "duration_ns": 1,
            }
        )
        lines.append({**STEP, "index": index, "log": end, "compilations": 1})
    write(folder / "steps.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    compilations = {(row["graph_hash"], row["step"]) for row in table(read(run), "compilation")}

    assert compilations == {("aa", 0), (None, 1), ("bb", 2), ("cc", 3)}


@pytest.mark.parametrize("kept", [("analysis-0.log",), ("analysis-0.log", "analysis-6000000.log")])
def test_analysis_log_that_was_just_set_aside(run: Path, kept: tuple[str, ...]) -> None:
    log = run / "process-42" / "analysis.log"
    for name in kept:
        write(log.with_name(name), log.read_text(encoding="utf-8"))
    log.unlink()
    ingested = read(run)
    assert len(table(ingested, "compilation")) == 5 * len(kept)
    assert ingested.notes == []


# Damaged


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "{run}: no run.json in this directory"),
        ("", "{run}/run.json: not a manifest of xladoctor: "),
        ("{", "{run}/run.json: not a manifest of xladoctor: "),
        ("[]", "{run}/run.json: not a manifest of xladoctor"),
        ('{"name": "another tool"}', "{run}/run.json: not a manifest of xladoctor"),
    ],
)
def test_directory_without_a_manifest(run: Path, content: str | None, message: str) -> None:
    (run / "run.json").unlink()
    if content is not None:
        write(run / "run.json", content)
    with pytest.raises(IngestError) as caught:
        read(run)
    assert caught.value.what.startswith(message.format(run=run))
    assert "run.json" in caught.value.hint


@pytest.mark.parametrize("content", ["", "{", "[]", "5", "\x00", '{"pid": 7}'])
def test_damaged_process_is_left_out_with_a_note(run: Path, content: str) -> None:
    damaged = run / "process-41" / "process.json"
    write(damaged, content)

    ingested = read(run)

    assert [(p["process"], p["pid"]) for p in table(ingested, "process")] == [(0, 42)]
    (note,) = ingested.notes
    assert note.startswith(f"{damaged}: cannot be read")


def test_damage_of_the_only_process_is_what_the_error_says(run: Path) -> None:
    damaged = run / "process-42" / "process.json"
    write(damaged, "{")
    with pytest.raises(IngestError, match=f"{damaged}: cannot be read"):
        read(run)


def test_folder_without_files_is_left_out(run: Path) -> None:
    (run / "process-41").mkdir()
    assert len(table(read(run), "process")) == 1


@pytest.mark.parametrize("name", ["call_sites.json", "metrics.txt"])
def test_damaged_file_of_a_process_leaves_a_note(run: Path, name: str) -> None:
    write(run / "process-42" / name, "\x00 {")
    (note,) = read(run).notes
    assert note.startswith(f"{run / 'process-42' / name}: ")


def test_nothing_captured_says_why(run: Path) -> None:
    add_process(run, 42, used_device=False)
    (run / "process-42" / "steps.jsonl").write_text("")
    with pytest.raises(IngestError, match="no computation ran on an XLA device"):
        read(run)


@pytest.mark.parametrize(
    ("log", "message", "hint"),
    [
        (None, "no Python process reported", "-E, -I or -S"),
        ("42 7 started\n", "never imported torch_xla", "the interpreter"),
        ("42 7 started\n42 7 imported torch_xla\n", "no computation ran on an XLA device", "sync"),
    ],
    ids=["no Python", "another program", "no device"],
)
def test_program_that_left_no_folder(
    tmp_path: Path, log: str | None, message: str, hint: str
) -> None:
    write(tmp_path / "run.json", MANIFEST)
    if log is not None:
        write(tmp_path / "python.log", log)
    with pytest.raises(IngestError, match=message) as caught:
        read(tmp_path)
    assert hint in caught.value.hint


USES = """\
42 7 uses torch_xla 2 <module> /home/ada/a train.py
42 7 uses torch_xla.core.xla_model.mark_step 9 main /home/ada/a train.py
42 7 uses torch_xla.unheard_of 10 main /home/ada/a train.py
43 42 uses torch_xla.sync 9 main /home/ada/other.py
"""


def test_names_of_a_replaced_package_are_those_of_processes_with_evidence(run: Path) -> None:
    write(run / "python.log", f"42 7 started\n{USES}")
    names = read(run).tables["other_name"]
    assert names["process"] == [0, 0, 0]
    assert names["name"][1] == "torch_xla.core.xla_model.mark_step"
    assert (names["line"], names["function"]) == ([2, 9, 10], ["<module>", "main", "main"])
    assert set(names["file"]) == {"/home/ada/a train.py"}


def test_program_that_a_replaced_package_has_ended(tmp_path: Path) -> None:
    write(tmp_path / "run.json", MANIFEST)
    write(tmp_path / "python.log", f"42 7 imported torch\n42 7 imported torch_tpu\n{USES}{USES}")
    with pytest.raises(IngestError, match="imported torch_tpu, but no computation") as caught:
        read(tmp_path)
    told = caught.value.hint.splitlines()[1:]
    assert told[0] == "its code was written for torch_xla, which TorchTPU replaces:"
    assert told[1].startswith("  /home/ada/a train.py:2 torch_xla: import torch")
    assert told[2].startswith(
        "  /home/ada/a train.py:9 torch_xla.core.xla_model.mark_step: nothing, as no barrier"
    )
    assert len(told) == 4  # not what nothing is known of, and nothing twice


def test_names_that_the_framework_has_not_replaced_are_not_told(tmp_path: Path) -> None:
    write(tmp_path / "run.json", MANIFEST)
    write(tmp_path / "python.log", f"42 7 imported torch_xla\n{USES}")
    with pytest.raises(IngestError) as caught:
        read(tmp_path)
    assert "train.py" not in caught.value.hint


@pytest.mark.parametrize("name", ["analysis.log", "steps.jsonl", "metrics.txt", "call_sites.json"])
def test_file_that_may_not_be_read_leaves_a_note(run: Path, name: str) -> None:
    path = run / "process-42" / name
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert [note for note in read(run).notes if note.startswith(f"{path}: cannot be read")]


# Captures that lost everything


FAULT = "Traceback (most recent call last):\n  …\nOSError: [Errno 28] No space left on device\n"


def test_fault_before_anything_was_recorded_is_told(run: Path) -> None:
    folder = add_process(run, 42, used_device=False)
    write(folder / "steps.jsonl", "")
    write(folder / "faults.log", FAULT)
    with pytest.raises(IngestError, match=r"recorded anything: OSError: .* No space") as caught:
        read(run)
    assert "no computation" not in caught.value.what
    assert "--output on another disk" in caught.value.hint


def test_process_without_a_record_was_not_written_or_removed(run: Path) -> None:
    (run / "process-42" / "process.json").unlink()
    with pytest.raises(IngestError, match="not written, as on a full disk, or removed"):
        read(run)


def test_fault_of_a_process_whose_folder_was_removed_is_told(run: Path) -> None:
    write(run / "faults.log", FAULT)
    assert any("could not be captured: OSError" in note for note in read(run).notes)


def test_room_that_was_kept_for_faults_is_none(run: Path) -> None:
    write(run / "faults.log", " " * 4096)
    assert not read(run).notes


# Clocks that were set


@pytest.mark.parametrize(("jumped", "way"), [(3600, "ahead"), (-3600, "back")])
def test_timeline_whose_clock_was_set_is_left_out_and_said_so(
    run: Path, jumped: int, way: str
) -> None:
    window = {
        "session": "out",
        "begin_ns": 1,
        "end_ns": 2,
        "steps": 9,
        "ended_by": "step limit",
        "jumped_ns": jumped * 10**9,
    }
    add_process(run, 42, windows=[window])
    timeline = run / "plugins" / "profile" / "out" / "vm_42.xplane.pb"
    write(timeline, "")
    ingested = read(run)
    assert any(f"clock was set {way} by 3600 s while" in note for note in ingested.lost)
    assert "trace" not in ingested.tables
