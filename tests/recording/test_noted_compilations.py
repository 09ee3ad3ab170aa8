"""Which compilations the writer's thread logs, and which it leaves to the calls that compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites
from xladoctor.recording.bootstrap._xladoctor.recorder import Recorder
from xladoctor.recording.bootstrap._xladoctor.step import ThreadState

SITE = 7


class Counters:
    """Counts compilations, each of which takes as many milliseconds as its number.

    The framework keeps the times of the latest three.
    """

    reports_each = False
    reads = frozenset[str]()
    report = None

    def __init__(self) -> None:
        self.ended = 0
        self.begun = 0  # of those that have not ended

    def compiled(self) -> int:
        return max(self.begun, self.ended)

    def relaunched(self) -> int:
        return 0

    def value(self, name: str) -> int | None:
        return None

    def names(self) -> list[str]:
        return []

    fallbacks = names

    def is_fallback(self, name: str) -> bool:
        return False

    def compile_times(self) -> tuple[int, float, Sequence[tuple[float, float]]]:
        times = [(float(number), number * 1e6) for number in range(1, self.ended + 1)]
        return self.ended, sum(spent for _, spent in times), times[-3:]


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def recorder(counters: Counters) -> Recorder:
    made = Recorder(counters, CallSites(()))
    made.thread()
    return made


def logged(recorder: Recorder) -> list[tuple[int, Any]]:
    """Milliseconds and site of each compilation in the log."""
    lines = [line for line in recorder.lines if isinstance(line, dict)]
    return [
        (line["duration_ns"] // 10**6, line.get("site"))
        for line in lines
        if line["event"] == "compile"
    ]


def enter(state: ThreadState, call: str) -> None:
    """The thread is in a call; a watched operator is none that is timed."""
    state.inside = "" if call == "operator" else call
    state.watched = call == "operator"


def test_what_no_call_notes_is_logged(recorder: Recorder, counters: Counters) -> None:
    counters.ended = 2
    recorder.note_compilations()
    recorder.note_compilations()
    assert logged(recorder) == [(1, None), (2, None)]
    recorder.note_compilations()
    assert len(logged(recorder)) == recorder.compilations.count == 2


@pytest.mark.parametrize("call", ["barrier", "read", "save", "operator"])
def test_call_notes_its_own_however_late(recorder: Recorder, counters: Counters, call: str) -> None:
    """The thread may be stopped within the call, and between its end and the noting."""
    state = recorder.thread()
    recorder.note_compilations()
    enter(state, call)
    counters.ended = 1
    recorder.note_compilations()
    recorder.note_compilations()
    enter(state, "")
    recorder.note_compilations()
    recorder.compilations.note(state, call, SITE, 10**9)
    recorder.note_compilations()
    assert logged(recorder) == [(1, SITE)]


def test_what_ended_before_a_call_is_not_its_own(recorder: Recorder, counters: Counters) -> None:
    state = recorder.thread()
    counters.ended = 1
    recorder.note_compilations()
    counters.ended = 3  # in a call that has ended when the writer looks again
    recorder.note_compilations()
    recorder.compilations.note(state, "barrier", SITE, 10**9)
    assert logged(recorder) == [(1, None), (2, SITE), (3, SITE)]


def test_times_that_the_framework_has_dropped(recorder: Recorder, counters: Counters) -> None:
    counters.ended = 3
    recorder.note_compilations()
    counters.ended = 5
    recorder.note_compilations()
    assert logged(recorder) == [(3, None)]
    recorder.note_compilations()
    assert logged(recorder) == [(3, None), (4, None), (5, None)]
    assert recorder.compilations.count == 5


def test_counters_that_the_program_clears(recorder: Recorder, counters: Counters) -> None:
    counters.ended = 3
    recorder.note_compilations()
    counters.ended = 0
    recorder.note_compilations()
    counters.ended = 1
    for _ in range(2):
        recorder.note_compilations()
    assert recorder.compilations.count == 1


def test_what_the_end_cuts_short_counts_up_to_it(recorder: Recorder, counters: Counters) -> None:
    state = recorder.thread()
    counters.ended = 1
    recorder.compilations.note(state, "read", SITE, 10**9)
    counters.begun = 2
    recorder.tails()
    tail = recorder.lines[-1]
    assert isinstance(tail, dict)
    assert tail["compilations"] == 2
    assert 0 < tail["compile_ns"] - 10**6 <= tail["duration_ns"]
    assert len(logged(recorder)) == 2


def test_what_the_backward_pass_compiled_is_not_lost_in_a_cut(
    recorder: Recorder, counters: Counters
) -> None:
    state = recorder.thread()
    state.step.begin -= 10**10  # long enough for the optimizer to cut it
    counters.ended = 3
    recorder.optimizer(state, 0)
    cut = recorder.lines[-1]
    assert not isinstance(cut, dict)
    assert (cut.event, cut.compile_ns) == ("cut", 6_000_000)
