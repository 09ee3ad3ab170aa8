"""Capturing a program in a fork gives what capturing it by the command line gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.live.harness import BY_COMMAND, LIVE, PROGRAMS, Captured, Captures, capture, settings_of
from tests.live.test_determinism import facts

pytestmark = LIVE


def process_record(run: Captured) -> dict[str, Any]:
    """What the capture writes of the process, without numbers and times that differ."""
    record: dict[str, Any] = json.loads((run.process / "process.json").read_text())
    for name in ("pid", "parent", "began_ns", "exit_ns", "ended_ns", "windows", "modules", "files"):
        del record[name]
    return record


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            program,
            id=program.stem,
            marks=[
                pytest.mark.xdist_group(program.stem),
                *([] if program.stem == "last_batch" else [pytest.mark.thorough]),
            ],
        )
        for program in PROGRAMS
        if program.stem in BY_COMMAND - {"two_threads"}
    ],
)
def test_fork_gives_what_the_command_line_gives(
    program: Path, captured: Captures, tmp_path: Path
) -> None:
    by_command = captured(program)
    in_fork = capture(tmp_path / "run", program, env=settings_of(program))

    assert in_fork.finished == by_command.finished
    assert facts(in_fork.report) == facts(by_command.report)
    assert process_record(in_fork) == process_record(by_command)
    assert in_fork.notes == by_command.notes
