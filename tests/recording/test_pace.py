"""The status line's numbers, from step logs that grow."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from xladoctor.recording.pace import Logs, Pace
from xladoctor.recording.progress import described


def step(**fields: Any) -> str:
    line = {
        "event": "step",
        "thread": 1,
        "index": 0,
        "end_ns": time.time_ns(),
        "duration_ns": 80_000_000,
        **fields,
    }
    return json.dumps(line, separators=(",", ":")) + "\n"


def log(directory: Path, *lines: str, process: int = 1) -> None:
    folder = directory / f"process-{process}"
    folder.mkdir(exist_ok=True)
    with (folder / "steps.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(lines)


def test_lines_count_once_and_whole(tmp_path: Path) -> None:
    logs = Logs(tmp_path)
    assert logs.pace() == Pace(0, 0, (0, 0, 0))
    line = step(duration_ns=90_000_000, reads=[[3, "item", 0, 2, 125, 0], [4, "item", 0, 1, 5, 0]])
    log(tmp_path, '{"event":"compile","thread":1}\n', step(compilations=1), line[:20])
    assert logs.pace() == Pace(1, 1, (1, 1, 0), 80.0, None)
    log(tmp_path, line[20:])
    assert logs.pace() == logs.pace() == Pace(2, 1, (2, 1, 3), 90.0, 90.0)


def test_what_is_long_ago_is_not_lately(tmp_path: Path) -> None:
    log(tmp_path, step(end_ns=time.time_ns() - 11 * 10**9, compilations=1), step())
    assert Logs(tmp_path).pace().lately == (1, 0, 0)


def test_of_several_processes_the_one_that_came_furthest(tmp_path: Path) -> None:
    compiled = '{"event":"compile","thread":1}\n'
    log(tmp_path, compiled, step())
    log(tmp_path, compiled, step(duration_ns=10**6), step(duration_ns=10**6), process=2)
    assert Logs(tmp_path).pace() == Pace(2, 2, (2, 0, 0), 1.0, 1.0)


def test_row_of_many_steps_and_a_line_that_is_none(tmp_path: Path) -> None:
    log(tmp_path, step(steps=10, duration_ns=50_000_000), '{"event":"step","reads":7}\n')
    assert Logs(tmp_path).pace() == Pace(11, 0, (10, 0, 0), 5.0, 5.0)


def test_as_much_as_there_is_room_for() -> None:
    pace = Pace(1234, 12, (121, 3, 40), 1281.0, 82.04)
    whole = (
        "xladoctor: 1234 steps, 12 compilations, 1:23; last 10 s: 3 compiled, 40 read;"
        " last 1.28 s (median 82 ms); 12.1 steps a second"
    )
    assert described(pace, 83.4, 200) == whole
    for width in range(45, 200):
        text = described(pace, 83.4, width)
        assert len(text) < width
        assert whole.startswith(text)
    assert (
        described(Pace(1, 1, (0, 0, 0), 3.0, 3.0), 5.0, 80)
        == "xladoctor: 1 step, 1 compilation, 0:05"
    )
