"""When the timeline's window opens and closes, with a profiler that records nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor import recorded_size
from xladoctor.recording.bootstrap._xladoctor import timeline as module
from xladoctor.recording.bootstrap._xladoctor.options import Options
from xladoctor.recording.bootstrap._xladoctor.timeline import Timeline

TICK_S = 0.25
MB = 1_000_000


class Profiler:
    """One session at a time; what it hands over names it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.made = 0
        self.stopped: list[int] = []
        self.busy = self.is_the_programs = False
        self.light = True

    def start(self) -> int | None:
        if self.busy or self.is_the_programs:
            return None
        self.made += 1
        return self.made

    def stop(self, session: int) -> tuple[bytes | None, int]:
        self.stopped.append(session)
        return b"session %d" % session, 77


class World:
    """A timeline, and what it can see: clock, memory, profiler, disk."""

    def __init__(self, folder: Path, options: Options, light: bool) -> None:
        self.folder = folder
        self.profiler = Profiler()
        self.profiler.light = light
        profiler: Any = self.profiler
        self.timeline = Timeline(profiler, options, str(folder), "vm_42.xplane.pb")
        self.seconds = 1000.0
        self.memory = 500 * MB
        self.compiled = 0
        self.jumped = 0

    def steps(self, count: int, quiet: int | None = None, begin: int = 1) -> None:
        """Barriers from number ``begin`` on, with ``quiet`` ones since the last compilation."""
        for number in range(begin, begin + count):
            self.timeline.barrier(number, number if quiet is None else quiet)

    def ticks(self, seconds: float, *, busy: bool = False) -> None:
        for _ in range(round(seconds / TICK_S)):
            self.seconds += TICK_S
            self.timeline.tick(busy, self.compiled)

    @property
    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    @property
    def ended_by(self) -> list[str | None]:
        return [window.get("ended_by") for window in self.timeline.windows]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., World]:
    def make(*, light: bool = True, **options: Any) -> World:
        world = World(tmp_path, Options(session="s", **options), light)
        clock = SimpleNamespace(
            monotonic=lambda: world.seconds,
            time_ns=lambda: int(world.seconds * 1e9),
            perf_counter_ns=lambda: int(world.seconds * 1e9),
            jumped_ns=lambda: world.jumped,
        )
        monkeypatch.setattr(module, "clock", clock)
        monkeypatch.setattr(recorded_size, "allocated", lambda: world.memory)
        return world

    return make


# Opening


def test_opens_when_the_loop_is_at_rest(make: Callable[..., World]) -> None:
    world = make()
    world.timeline.used()
    world.steps(2)
    world.timeline.barrier(3, 1)  # the third step compiled
    assert world.profiler.stopped == []  # the provisional one
    world.timeline.barrier(4, 2)
    assert world.timeline.active
    assert (world.profiler.made, world.profiler.stopped) == (2, [1])
    assert len(world.timeline.windows) == 1
    assert world.timeline.windows[0]["steps"] == 0


def test_restless_loop_is_traced_all_the_same(make: Callable[..., World]) -> None:
    world = make()
    world.timeline.used()
    world.steps(9, quiet=0)
    assert world.profiler.made == 1
    world.steps(1, quiet=0, begin=10)
    assert world.timeline.active
    assert world.profiler.made == 2


def test_program_that_ends_in_warm_up_keeps_what_there_is(make: Callable[..., World]) -> None:
    world = make()
    world.timeline.used()
    world.steps(3, quiet=0)
    world.timeline.close()
    world.timeline.write()
    assert world.timeline.windows[0]["steps"] == 3
    assert world.files == {"s/vm_42.xplane.pb": b"session 1"}


def test_slow_warm_up_is_not_all_of_it(make: Callable[..., World]) -> None:
    world = make(trace_seconds=3.0)
    world.timeline.used()
    world.steps(1, quiet=0)
    world.ticks(10)
    assert not world.timeline.active
    world.steps(9, quiet=9, begin=2)
    assert world.timeline.active
    assert len(world.timeline.windows) == 1


def test_reads_before_the_first_barrier_keep_no_window_from_the_loop(
    make: Callable[..., World],
) -> None:
    """The first step reads three values, and compiles for long: no barrier so far."""
    world = make()
    world.timeline.used()
    for _ in range(3):
        world.timeline.read()
    world.ticks(10, busy=True)
    assert world.ended_by == ["no barrier"]
    world.steps(4)
    assert world.timeline.active
    world.timeline.close()
    world.timeline.write()
    assert world.ended_by == ["end of program"]
    assert world.files == {"s/vm_42.xplane.pb": b"session 2"}


def test_many_reads_before_the_first_barrier_keep_no_window_from_the_loop(
    make: Callable[..., World],
) -> None:
    """A program reads as many values as a window has steps, before it trains."""
    world = make()
    world.timeline.used()
    for _ in range(500):
        world.timeline.read()
    assert world.ended_by == ["step limit"]
    world.steps(4)
    world.timeline.close()
    world.timeline.write()
    assert world.ended_by == ["end of program"]
    assert world.files == {"s/vm_42.xplane.pb": b"session 2"}


@pytest.mark.parametrize("after", [1, 2, 40])
def test_opens_after_as_many_steps_as_were_asked_for(
    make: Callable[..., World], after: int
) -> None:
    world = make(trace_after=after)
    world.timeline.used()
    world.steps(after - 1)
    world.ticks(5)
    assert not world.timeline.active
    world.steps(1, quiet=0, begin=after)
    assert world.timeline.active


def test_opens_at_once_if_asked_for(make: Callable[..., World]) -> None:
    world = make(trace_after=0)
    world.timeline.used()
    assert world.timeline.active


def test_no_timeline_if_none_is_asked_for(make: Callable[..., World]) -> None:
    world = make(trace_steps=0, trace_after=0)
    world.timeline.used()
    world.steps(100)
    for _ in range(10):
        world.timeline.read()
    world.ticks(10)
    assert not world.timeline.outlier()
    world.timeline.close()
    world.timeline.write()
    assert (world.profiler.made, world.timeline.windows, world.files) == (0, [], {})


def test_program_without_barriers_is_traced_from_the_start(make: Callable[..., World]) -> None:
    world = make(trace_steps=20, trace_seconds=3.0)
    world.timeline.used()
    for _ in range(19):
        world.timeline.read()
    assert world.timeline.active
    world.timeline.read()
    assert world.ended_by == ["step limit"]


def test_program_with_neither_is_traced_for_its_seconds(make: Callable[..., World]) -> None:
    world = make(trace_seconds=3.0)
    world.timeline.used()
    world.ticks(10, busy=True)  # compiling
    assert world.timeline.active
    world.ticks(3)
    assert world.ended_by == ["time limit"]


def test_profiler_that_is_taken_is_asked_again_at_the_next_step(make: Callable[..., World]) -> None:
    world = make()
    world.profiler.busy = True
    world.steps(20)
    assert not world.timeline.active
    assert world.timeline.windows == []
    world.profiler.busy = False
    world.steps(1, begin=21)
    assert world.timeline.active


# Closing


@pytest.mark.parametrize("steps", [1, 5, 60])
def test_closes_after_its_steps_and_opens_no_more(make: Callable[..., World], steps: int) -> None:
    world = make(trace_steps=steps, trace_after=1)
    world.steps(steps)
    assert world.timeline.active
    world.steps(1, begin=steps + 1)
    assert not world.timeline.active
    world.steps(200, begin=steps + 2)
    assert (world.profiler.made, world.ended_by) == (1, ["step limit"])
    assert world.timeline.windows[0]["steps"] == steps


def test_clock_that_is_set_meanwhile_is_told(make: Callable[..., World]) -> None:
    world = make(trace_steps=5, trace_after=1)
    world.jumped = 7  # before it
    world.steps(3)
    world.jumped -= 3600 * 10**9
    world.steps(3, begin=4)
    assert world.timeline.windows[0]["jumped_ns"] == -3600 * 10**9


def test_closes_after_its_seconds_of_which_compilation_and_waits_are_none(
    make: Callable[..., World],
) -> None:
    world = make(trace_seconds=3.0, trace_after=1)
    world.steps(2)
    world.ticks(60, busy=True)
    world.ticks(2.75)
    assert world.timeline.active
    world.ticks(0.25)
    assert world.ended_by == ["time limit"]


def test_is_not_open_for_ever_while_each_step_compiles_or_waits(make: Callable[..., World]) -> None:
    world = make(trace_seconds=3.0, trace_after=1)
    world.steps(3)
    world.ticks(30, busy=True)  # two steps so far
    assert world.timeline.active
    world.steps(1, begin=4)
    world.ticks(0.25, busy=True)
    assert world.ended_by == ["time limit"]


def test_closes_when_it_has_taken_the_memory_of_too_large_a_file(
    make: Callable[..., World],
) -> None:
    world = make(trace_bytes=10 * MB, trace_after=1)
    world.steps(11)
    world.memory += 39 * MB
    world.ticks(0.25)
    assert world.timeline.active
    world.memory += 2 * MB
    world.ticks(0.25)
    assert world.ended_by == ["size limit"]


def test_memory_of_the_first_steps_may_be_the_program_s(make: Callable[..., World]) -> None:
    world = make(trace_bytes=10 * MB, trace_after=1)
    world.steps(3)
    world.memory += 5000 * MB
    world.ticks(0.25)
    assert world.timeline.active
    world.memory -= 4950 * MB
    world.steps(6, begin=4)
    world.ticks(0.25)
    assert world.timeline.active
    world.memory += 4900 * MB
    world.ticks(0.25)
    assert world.ended_by == ["size limit"]


@pytest.mark.parametrize(
    ("before_s", "mb", "closed"),
    [(0, 50, False), (0, 60, True), (100, 250, False), (100, 300, True)],
)
def test_closes_after_few_steps_if_its_end_would_take_a_part_of_the_run(
    make: Callable[..., World], before_s: float, mb: int, closed: bool
) -> None:
    world = make(trace_after=1)
    world.timeline.used()
    world.seconds += before_s
    world.steps(5)
    world.memory += mb * MB
    world.ticks(0.25)
    assert world.timeline.active  # after four
    world.steps(1, begin=6)
    world.ticks(0.25)
    assert world.timeline.active is not closed
    assert world.ended_by == (["slow end"] if closed else [None])


def test_slow_end_is_accepted_by_who_asks_for_more_steps_than_usual(
    make: Callable[..., World],
) -> None:
    world = make(trace_after=1, trace_steps=1000)
    world.timeline.used()
    world.steps(500)
    world.memory += 300 * MB
    world.ticks(0.25)
    assert world.timeline.active


def test_memory_that_compilers_take_is_not_the_recording_s(make: Callable[..., World]) -> None:
    world = make(trace_bytes=10 * MB, trace_after=1)
    for number in range(20):
        world.steps(2, begin=2 * number + 1)
        world.compiled += number % 2
        world.memory += (50 if number % 2 else 1) * MB
        world.ticks(0.25)
    assert world.timeline.active  # 1 MB of memory for each two steps
    world.memory += 25 * MB
    world.ticks(0.25)
    assert world.ended_by == ["size limit"]


def test_what_set_up_takes_leaves_a_window_for_the_loop(make: Callable[..., World]) -> None:
    world = make(trace_bytes=10 * MB)
    world.timeline.used()
    world.memory += 5000 * MB
    world.ticks(0.25)
    assert world.ended_by == ["size limit"]
    world.steps(20)
    assert world.timeline.active
    assert len(world.timeline.windows) == 1


def test_end_of_the_program_closes_it(make: Callable[..., World]) -> None:
    world = make(trace_after=1)
    world.steps(3)
    world.timeline.end("end of program")
    world.timeline.end("end of program")
    world.timeline.write()
    assert world.ended_by == ["end of program"]
    assert world.files == {"s/vm_42.xplane.pb": b"session 1"}


def profile(world: World, first: int, steps: int, written: str | None = "theirs") -> None:
    """The program profiles itself over some steps, and writes what it recorded."""
    world.timeline.give_way()
    world.profiler.is_the_programs = True
    world.steps(steps, begin=first)
    world.profiler.is_the_programs = False
    file = world.folder / f"program-{first}.xplane.pb"
    if written is not None:
        file.write_text(written)
    world.timeline.take(None if written is None else str(file))


def test_program_s_own_profile_closes_it_and_is_kept(make: Callable[..., World]) -> None:
    world = make(trace_after=1)
    world.steps(3)
    profile(world, 4, 12)
    (world.folder / "program-4.xplane.pb").unlink()
    world.steps(50, begin=16)
    assert not world.timeline.outlier()
    world.timeline.write()
    assert (world.profiler.made, world.ended_by) == (1, ["the program's own profile"])
    assert world.timeline.described()[1:] == [
        {
            "begin_ns": 10**12,
            "steps": 12,
            "of_program": True,
            "end_ns": 10**12,
            "ended_by": "the program",
            "session": "s-program",
            "bytes": 6,
            "file": "vm_42.xplane.pb",
        }
    ]
    assert world.files["s-program/vm_42.xplane.pb"] == b"theirs"


@pytest.mark.parametrize(("steps", "made"), [(10, 0), (9, 1)])
def test_program_s_own_profile_of_steady_steps_is_enough(
    make: Callable[..., World], steps: int, made: int
) -> None:
    world = make()
    world.steps(2)
    profile(world, 3, steps)
    world.steps(50, begin=3 + steps)
    assert world.profiler.made == made


def test_program_s_own_profile_of_warm_up_leaves_it_to_open(make: Callable[..., World]) -> None:
    world = make()
    world.timeline.used()
    profile(world, 1, 3)
    world.steps(100, begin=4)
    assert world.ended_by == ["step limit"]
    assert [window["steps"] for window in world.timeline.described()] == [60, 3]


def test_of_several_profiles_the_one_with_the_most_steps_is_kept(
    make: Callable[..., World],
) -> None:
    world = make(trace_after=1000)
    for first, steps, written in ((1, 4, "a"), (10, 6, "b"), (20, 2, "c"), (30, 9, None)):
        profile(world, first, steps, written)
    assert world.files["s-program/vm_42.xplane.pb"] == b"b"
    assert [window["steps"] for window in world.timeline.described()] == [6]


def test_program_s_own_profile_that_nobody_ends_is_told(make: Callable[..., World]) -> None:
    world = make()
    world.profiler.is_the_programs = True  # since before it used a device
    world.timeline.used()
    world.steps(20)
    world.timeline.close()
    assert [(window["ended_by"], window["steps"]) for window in world.timeline.described()] == [
        ("end of program", 20)
    ]


def test_no_profile_is_kept_if_none_is_asked_for(make: Callable[..., World]) -> None:
    world = make(trace_steps=0)
    profile(world, 1, 20)
    assert world.timeline.described() == []


def test_fault_of_the_capture_leaves_the_profiler_free_and_nothing_behind(
    make: Callable[..., World],
) -> None:
    world = make(trace_after=1)
    world.steps(3)
    world.timeline.abandon()
    assert world.profiler.stopped == [1]
    world.steps(50, begin=4)
    world.ticks(10)
    assert not world.timeline.outlier()
    assert (world.profiler.made, world.files) == (1, {})


def test_fault_after_the_window_leaves_the_window(make: Callable[..., World]) -> None:
    world = make(trace_steps=1, trace_after=1)
    world.steps(2)
    world.timeline.abandon()
    world.timeline.write()
    assert world.profiler.stopped == [1]
    assert world.files == {"s/vm_42.xplane.pb": b"session 1"}


# A profiler that is not light: of all threads, in Python objects, with a pause at its end


@pytest.fixture
def heavy(make: Callable[..., World]) -> Callable[..., World]:
    return lambda **options: make(light=False, **options)


def test_heavy_one_records_no_warm_up(heavy: Callable[..., World]) -> None:
    world = heavy()
    world.timeline.used()
    world.steps(2)
    assert world.profiler.made == 0
    world.steps(1, begin=3)
    assert world.timeline.active
    asked = heavy(trace_after=0)
    asked.timeline.used()
    assert asked.timeline.active


@pytest.mark.parametrize(
    ("seconds", "steps"), [(0.01, 60), (0.1, 15), (0.3, 10), (0.5, 8), (1.0, 4), (2.0, 4)]
)  # of a step, and how many are recorded
def test_heavy_one_is_short(heavy: Callable[..., World], seconds: float, steps: int) -> None:
    world = heavy(trace_after=1)
    for number in range(80):
        world.steps(1, begin=number)
        world.seconds += seconds
    assert [window["steps"] for window in world.timeline.windows] == [steps]


def test_heavy_one_is_the_only_one(heavy: Callable[..., World]) -> None:
    world = heavy(trace_after=1, trace_steps=5)
    world.steps(20)
    assert not world.timeline.outlier()
    asked = heavy(trace_after=1)
    asked.steps(5)
    asked.timeline.before_fork()
    asked.steps(60, begin=6)
    assert asked.ended_by == ["a fork of the process"]
    given = heavy(trace_after=1)
    given.steps(5)
    profile(given, 6, 8, None)
    given.steps(60, begin=14)
    assert given.ended_by == ["the program's own profile"]
    assert [each.profiler.made for each in (world, asked, given)] == [1, 1, 1]


def test_heavy_one_of_what_was_not_the_loop_is_none(heavy: Callable[..., World]) -> None:
    world = heavy(trace_steps=5)
    world.steps(10)
    world.timeline.write()
    assert world.files
    world.timeline.begin_anew()
    world.steps(60)
    world.timeline.write()
    assert (world.profiler.made, world.timeline.windows, world.files) == (1, [], {})


def test_one_too_large_of_what_was_not_the_loop_leaves_a_window_for_it(
    make: Callable[..., World],
) -> None:
    world = make(trace_bytes=10 * MB)
    world.steps(16)
    world.memory += 500 * MB
    world.ticks(0.25)
    assert world.ended_by == ["size limit"]
    assert not world.timeline.outlier()
    world.timeline.begin_anew()
    world.steps(10)
    assert world.timeline.active
    assert len(world.timeline.windows) == 1


def test_light_one_goes_on_after_a_fork(make: Callable[..., World]) -> None:
    world = make(trace_after=1)
    world.steps(4)
    world.timeline.before_fork()
    assert world.timeline.active


# What is written


def test_file_is_written_by_the_next_tick_and_described(make: Callable[..., World]) -> None:
    world = make(trace_steps=2, trace_after=1)
    world.steps(3)
    assert world.files == {}
    world.ticks(0.25)
    assert world.files == {"s/vm_42.xplane.pb": b"session 1"}
    assert world.timeline.windows == [
        {
            "begin_ns": 10**12,
            "steps": 2,
            "end_ns": 10**12,
            "ended_by": "step limit",
            "bytes": 9,
            "stop_ns": 77,
            "session": "s",
            "file": "vm_42.xplane.pb",
            "write_ns": 0,
        }
    ]


def test_what_writes_its_file_itself_does(make: Callable[..., World]) -> None:
    world = make(trace_steps=2, trace_after=1)
    stop: Any = lambda session: (lambda path: Path(path).write_bytes(b"four"), 1)  # noqa: E731
    world.profiler.stop = stop  # type: ignore[method-assign]
    world.steps(3)
    world.ticks(0.25)
    assert world.files == {"s/vm_42.xplane.pb": b"four"}
    assert world.timeline.windows[0]["bytes"] == 4


def test_file_that_could_not_be_written_is_none_of_the_window(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, content: bytes) -> None:
        raise OSError(28, "No space left on device", path)

    world = make(trace_steps=1, trace_after=1)
    world.steps(2)
    monkeypatch.setattr(module, "replace_file", full)
    with pytest.raises(OSError, match="No space left"):
        world.timeline.write()
    assert "file" not in world.timeline.windows[0]


# After an outlier


def test_steps_after_an_outlier_are_traced_once(make: Callable[..., World]) -> None:
    world = make(trace_steps=5, trace_after=1)
    assert not world.timeline.outlier()  # the first window is still to come
    world.steps(3)
    assert not world.timeline.outlier()  # it is open
    world.steps(60, begin=4)
    assert world.timeline.outlier()
    world.steps(19, begin=64)
    assert world.timeline.active
    world.steps(1, begin=83)
    assert not world.timeline.active
    assert not world.timeline.outlier()
    world.ticks(0.25)
    assert world.files == {
        "s/vm_42.xplane.pb": b"session 1",
        "s-outlier/vm_42.xplane.pb": b"session 2",
    }
    assert [window["session"] for window in world.timeline.windows] == ["s", "s-outlier"]
    assert [window["steps"] for window in world.timeline.windows] == [5, 20]


def test_second_window_has_all_its_seconds(make: Callable[..., World]) -> None:
    world = make(trace_seconds=3.0, trace_after=1)
    world.steps(2)
    world.ticks(3)
    world.ticks(500)
    assert world.timeline.outlier()
    world.ticks(2.75)
    assert world.timeline.active
    world.ticks(0.25)
    assert world.ended_by == ["time limit", "time limit"]
