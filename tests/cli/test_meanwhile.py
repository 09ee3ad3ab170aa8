"""What the command does while the program runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from xladoctor.cli.meanwhile import Meanwhile
from xladoctor.recording.progress import Silence

LIMIT_S = 60.0


def until(fulfilled: Callable[[], bool]) -> None:
    ends = time.monotonic() + LIMIT_S
    while not fulfilled() and time.monotonic() < ends:
        time.sleep(0.01)
    assert fulfilled()


def test_what_the_analysis_needs_is_made_ready_from_the_first_tick_on(tmp_path: Path) -> None:
    called: list[str] = []

    def failing() -> None:
        called.append("failing")
        raise ValueError

    meanwhile = Meanwhile(Silence(), (failing, lambda: called.append("after it")))
    meanwhile.started(tmp_path)
    assert not called
    meanwhile.tick()
    until(lambda: called == ["failing", "after it"])
    meanwhile.tick()
    meanwhile.ended()
    assert called == ["failing", "after it"]


def test_nothing_more_is_prepared_after_the_end(tmp_path: Path) -> None:
    called: list[int] = []

    def slow() -> None:
        called.append(1)
        time.sleep(0.2)

    meanwhile = Meanwhile(Silence(), [slow] * 1000)
    meanwhile.started(tmp_path)
    meanwhile.tick()
    until(lambda: bool(called))
    meanwhile.ended()
    assert len(called) < 10


def test_reports_come_one_at_a_time_from_a_copy_that_is_silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def report(directory: Path) -> None:
        os.write(1, b"not to be seen")
        with (directory / "reports").open("a") as file:
            file.write("begun\n")
        if (directory / "reports").read_text().count("begun") == 2:
            time.sleep(10 * LIMIT_S)

    meanwhile = Meanwhile(Silence(), report=report, every_s=0.05)
    meanwhile.started(tmp_path)
    reports = tmp_path / "reports"

    def twice() -> bool:
        meanwhile.tick()
        return reports.exists() and reports.read_text().count("begun") == 2

    until(twice)
    for _ in range(10):
        time.sleep(0.02)
        meanwhile.tick()
    meanwhile.ended()  # which does not wait for the second one
    assert reports.read_text() == "begun\nbegun\n"
    output, errors = capfd.readouterr()
    assert output == ""
    assert errors.startswith("xladoctor: reports on the program so far: ")
