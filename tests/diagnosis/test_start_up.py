"""What came before the end of the first step, and how a report says it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support import Row, complete, step
from xladoctor.diagnosis.account import time_spent
from xladoctor.diagnosis.interface import TimeSpent
from xladoctor.diagnosis.start_up import start_up
from xladoctor.evidence.interface import Evidence
from xladoctor.report.words import start_up as said

SECOND = 10**9
BEGAN = 1000 * SECOND


def spent(seconds: float, line: int, **columns: Any) -> Row:
    return {
        "process": 0,
        "duration_ns": int(seconds * SECOND),
        "file": "train.py",
        "line": line,
        "function": "main",
        **columns,
    }


ROWS = [
    spent(6, 3, what="import", package="torch"),
    spent(20, 31, read_bytes=3_000_000_000),
    spent(1, 40, read_bytes=150_000_000),
    spent(9, 60, what="compile", read_bytes=1000),
    spent(2, 60, what="tracing"),
]


def of_run(rows: list[Row], ended_s: float = 60.0, **more: Any) -> Evidence:
    loop = [
        step(
            number,
            begin_ns=BEGAN + (30 + 10 * number) * SECOND,
            end_ns=BEGAN + (40 + 10 * number) * SECOND,
            duration_ns=10 * SECOND,
            **more,
        )
        for number in range(1 if more else 2)
    ]
    tables = {"step": loop, "start_up": rows}
    return complete(tables, began_ns=BEGAN, ended={"seconds": ended_s})


def time_of(evidence: Evidence) -> TimeSpent:
    return replace(time_spent(evidence), start_up=start_up(evidence))


def test_all_until_the_end_of_the_first_step_is_accounted_for() -> None:
    assert said(time_of(of_run(ROWS))) == [
        "until the end of the first step, 40 s:",
        "  train.py:31, 3 GB read, 20 s",
        "  compiling (train.py:60) 9 s",
        "  import of torch (train.py:3) 6 s",
        "  tracing (train.py:60) 2 s",
        "  not recorded 2 s",
    ]


def test_program_without_a_step_has_its_whole_time() -> None:
    time = time_of(of_run([spent(55, 60, what="compile")], tail=True, main=True))
    assert said(time) == [
        "the run, without any step, 60 s:",
        "  compiling (train.py:60) 55 s",
        "  not recorded 5 s",
    ]


def test_short_start_says_nothing() -> None:
    quick = of_run([spent(1, 3)], ended_s=1000.0)
    time = time_of(quick)
    assert time.start_up is not None
    assert said(replace(time, start_up=replace(time.start_up, seconds=20.0))) == []
    assert said(replace(time, total_s=40.0, start_up=replace(time.start_up, seconds=4.0))) == []
    assert said(replace(time, start_up=replace(time.start_up, seconds=31.0)))


def test_nothing_is_known_without_a_record() -> None:
    assert start_up(of_run([])) is None
    assert start_up(complete({"step": [step(0)], "start_up": ROWS})) is None
