"""A step log that ends before its process did, told by the other files where no list tells."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.test_run_directory import MANIFEST, STEP, add_process, write
from tests.xspace import builder
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_directory import read_run_directory

STEPS = 37
BEGAN = 1_700_000_000_000_000_000
STEP_NS = 100_000_000
KILLED = {"ended": False}


def line(index: int, event: str = "step") -> dict[str, Any]:
    return {
        **STEP,
        "event": event,
        "index": index,
        "end_ns": BEGAN + (index + 1) * STEP_NS,
        "duration_ns": STEP_NS,
        "counters": {"MarkStep": 1},
    }


def log(run: Path, lines: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(each) + "\n" for each in lines)
    write(run / "process-42" / "steps.jsonl", text)


WHOLE = [*map(line, range(STEPS)), line(STEPS, "tail")]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A process that ended by itself after 37 steps, with all of its files and no list of them."""
    write(tmp_path / "run.json", MANIFEST)
    add_process(tmp_path, 42)
    log(tmp_path, WHOLE)
    write(tmp_path / "process-42" / "metrics.txt", f"Counter: MarkStep\n  Value: {STEPS + 1}\n")
    space = builder.Space()
    space.started_at(BEGAN)
    thread = space.plane("/host:CPU").line("python")
    for index in range(STEPS):
        thread.event("StepMarker", (index + 0.9) * STEP_NS / 1e3, 0.1 * STEP_NS / 1e3)
    timeline = tmp_path / "plugins" / "profile" / "out" / "vm_42.xplane.pb"
    timeline.parent.mkdir(parents=True)
    timeline.write_bytes(space.bytes())
    return tmp_path


def record(run: Path, **changes: Any) -> None:
    file = run / "process-42" / "process.json"
    write(file, {**json.loads(file.read_text()), **changes})


def told(run: Path) -> str:
    """What is said of the log's end, of which each table of steps has to know."""
    ingested: Ingested = read_run_directory(run)[1]
    notes = [note for note in ingested.lost if "steps.jsonl: " in note]
    assert {"step", "host_sync", "compilation"} <= ingested.cut.keys() or not notes
    return "".join(note.partition("steps.jsonl: ")[2] for note in notes)


def test_whole_log_agrees(run: Path) -> None:
    assert read_run_directory(run)[1].notes == []


def test_steps_of_the_timeline_that_the_log_lacks_are_lost(run: Path) -> None:
    (run / "process-42" / "metrics.txt").unlink()
    log(run, WHOLE[:2])
    assert (
        told(run) == "is cut off: the timeline has 34 steps after its last line; what came"
        " after it is lost"
    )


def test_counts_of_the_report_that_the_log_lacks_are_lost(run: Path) -> None:
    (run / "plugins" / "profile" / "out" / "vm_42.xplane.pb").unlink()
    log(run, WHOLE[:2])
    assert (
        told(run) == "is cut off: the metrics report counts MarkStep 38 times, the log 2; what"
        " came after it is lost"
    )


def test_log_that_is_gone_is_lost(run: Path) -> None:
    (run / "process-42" / "steps.jsonl").unlink()
    assert told(run) == "is gone; its content is lost"


def test_what_the_list_tells_is_not_told_again(run: Path) -> None:
    size = (run / "process-42" / "steps.jsonl").stat().st_size
    record(run, files={"process-42/steps.jsonl": size})
    log(run, WHOLE[:2])
    assert told(run).startswith("is cut off after ")
    assert told(run).count("is cut off") == 1


def test_report_counts_what_threads_without_a_tail_did(run: Path) -> None:
    (run / "plugins" / "profile" / "out" / "vm_42.xplane.pb").unlink()
    log(run, [{**each, "main": False} for each in WHOLE[:2]])
    assert told(run) == ""


@pytest.mark.parametrize(("kept", "lost"), [(20, False), (2, True)])
def test_killed_process_may_have_written_its_last_seconds_to_the_timeline_alone(
    run: Path, kept: int, lost: bool
) -> None:
    record(run, **KILLED)
    log(run, WHOLE[:kept])
    assert bool(told(run)) is lost


def test_killed_process_may_not_have_written_a_line_of_many_steps(run: Path) -> None:
    record(run, **KILLED)
    log(run, [{**WHOLE[0], "steps": 10}])
    assert told(run) == ""


def test_clock_that_was_set_ahead_before_the_window_loses_nothing(run: Path) -> None:
    hour = 3600 * 10**9
    log(run, [{**each, "end_ns": each["end_ns"] - hour} for each in WHOLE])
    assert told(run)
    record(run, windows=[{"begin_ns": BEGAN - hour, "session": "out", "file": "vm_42.xplane.pb"}])
    assert told(run) == ""
