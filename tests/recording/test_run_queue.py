"""What the kernel tells of a thread's waits for a processor, written and read."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.run_queue import read_run_queue
from xladoctor.recording.bootstrap._xladoctor.run_queue import RunQueue

needs_schedstat = pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the kernel does not tell of waits"
)


def recorder(*threads: tuple[int, int]) -> Any:
    return SimpleNamespace(threads=[SimpleNamespace(id=id_, index=index) for id_, index in threads])


def read(folder: Path) -> dict[str, list[Any]] | None:
    ingested = Ingested()
    read_run_queue(folder / "processor.jsonl", ingested.of(0))
    return ingested.tables.get("processor_use")


@needs_schedstat
def test_thread_that_closes_steps_has_a_row_for_each_tick(tmp_path: Path) -> None:
    me = threading.get_native_id()
    queue = RunQueue(recorder((me, 4), (1, 0)), str(tmp_path))
    queue.tick()
    sum(range(1_000_000))
    queue.write()

    table = read(tmp_path)
    assert table is not None
    assert table["thread"] == [me, me]
    for column in ("at_ns", "run_ns"):
        assert table[column][0] < table[column][1]
    assert table["wait_ns"][0] <= table["wait_ns"][1]


def test_thread_that_has_ended_leaves_nothing(tmp_path: Path) -> None:
    ended = threading.Thread(target=int)
    ended.start()
    ended.join()
    assert ended.native_id is not None
    while Path(f"/proc/self/task/{ended.native_id}").exists():  # for some microseconds
        time.sleep(0.001)
    RunQueue(recorder((ended.native_id, 4)), str(tmp_path)).tick()
    assert read(tmp_path) is None


def test_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "processor.jsonl").write_text("[7, 10, 20, 30]\n[7, 40, 50")
    assert read(tmp_path) == {
        "process": [0],
        "thread": [7],
        "at_ns": [10],
        "run_ns": [20],
        "wait_ns": [30],
    }
