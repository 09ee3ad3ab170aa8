"""When memory is looked at, and what of it is logged."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any, cast

import pytest

from xladoctor.recording.bootstrap._xladoctor import clock, live_memory
from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites
from xladoctor.recording.bootstrap._xladoctor.facts import as_line
from xladoctor.recording.bootstrap._xladoctor.live_memory import Arrays, Made, MemoryLooks
from xladoctor.recording.bootstrap._xladoctor.step import ThreadState


class Array:
    shape, dtype = (4,), "float32"


class Known(Arrays):
    """Arrays of this process by line 7, of which the program has as many as its list."""

    known = True
    alive: int = 0

    def made(self, sites: CallSites) -> dict[int | None, Made]:
        return {7: (self.alive, 16 * self.alive)}

    def is_one(self, value: Any) -> bool:
        return type(value) is Array

    def size(self, array: Any) -> int:
        return 16


class Program:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(live_memory, "_AT_ONCE_NS", 10**10)
        self.facts: list[Any] = []
        self.arrays = Known()
        recorder = cast(Any, SimpleNamespace(log_fact=self.facts.append))
        self.memory = MemoryLooks(self.arrays, recorder, CallSites(frozenset()))
        self.thread = ThreadState(clock.perf_counter_ns())

    def step(self, index: int, thread: ThreadState | None = None) -> None:
        thread = thread or self.thread
        thread.index = index
        if index >= self.memory.due:
            self.memory.look(thread)

    def logged(self, event: str) -> list[dict[str, Any]]:
        self.memory.write()
        return [line for line in map(as_line, self.facts) if line["event"] == event]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    return Program(monkeypatch)


def test_looks_come_at_growing_distances(program: Program) -> None:
    for index in range(1, 100):
        program.step(index)
    assert [line["step"] for line in program.logged("live")] == [4, 8, 16, 32, 64]


def test_a_loop_that_is_found_begins_anew(program: Program) -> None:
    for index in range(1, 60):
        program.step(index)
        if index == 10:
            program.memory.begin_anew(index)
    assert [line["step"] for line in program.logged("live")] == [4, 8, 14, 18, 26, 42]


def test_the_list_that_grows_is_logged_with_what_it_held_before(program: Program) -> None:
    kept: list[Array] = []
    for index in range(1, 40):
        kept.append(Array())
        program.arrays.alive = len(kept)
        program.step(index)
    holders = program.logged("holder")
    assert [(line["step"], line["before"], line["arrays"]) for line in holders] == [
        (16, 8, 16),
        (32, 16, 32),
    ]
    assert {(line["name"], line["kind"], line["bytes"] / line["arrays"]) for line in holders} == {
        ("kept", "list", 16)
    }
    assert {line["released"] for line in holders} == {False}


def test_a_deque_is_logged_with_its_limit(program: Program) -> None:
    kept: deque[Array] = deque(maxlen=1000)
    for index in range(1, 20):
        kept.append(Array())
        program.arrays.alive = len(kept)
        program.step(index)
    assert [line["most"] for line in program.logged("holder")] == [1000]


def test_what_does_not_grow_has_no_holder(program: Program) -> None:
    kept = [Array() for _ in range(9)]
    program.arrays.alive = len(kept)
    for index in range(1, 40):
        program.step(index)
    assert program.logged("holder") == []


def test_steps_of_another_thread_are_not_looked_at(program: Program) -> None:
    other = ThreadState(clock.perf_counter_ns())
    for index in range(1, 10):
        program.step(index)
        program.step(index, other)
    assert [line["step"] for line in program.logged("live")] == [4, 8]


def test_a_look_that_takes_too_much_is_put_off(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_memory, "_AT_ONCE_NS", -(10**15))
    for index in range(1, 30):
        program.step(index)
    assert program.logged("live") == []
    monkeypatch.setattr(live_memory, "_AT_ONCE_NS", 10**10)
    for index in range(30, 80):
        program.step(index)
    assert [line["step"] for line in program.logged("live")] == [33, 66]


def test_nothing_is_due_where_a_framework_tells_nothing() -> None:
    recorder = cast(Any, SimpleNamespace())
    assert MemoryLooks(Arrays(), recorder, CallSites(frozenset())).due > 10**18


def test_a_copy_that_nothing_reads_is_logged(program: Program) -> None:
    first = {"w": Array()}
    state = first
    for index in range(1, 10):
        state = {"w": Array()}
        program.arrays.alive = 2
        program.step(index)
    assert state
    (line,) = program.logged("holder")
    assert (line["name"], line["twin"], line["unread"]) == ("first", "state", True)
