"""Which thread notes a compilation, as that decides whether its line is known."""

from __future__ import annotations

from typing import Any

from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites
from xladoctor.recording.bootstrap._xladoctor.recorder import Recorder


class Counters:
    """Of a process that has compiled so often."""

    reports_each = False
    ended = 0

    def compiled(self) -> int:
        return self.ended

    def relaunched(self) -> int:
        return 0

    def compile_times(self) -> tuple[int, float, list[tuple[float, float]]]:
        return self.ended, 1e9 * self.ended, [(1.5e9 + n, 1e9) for n in range(self.ended)]

    def names(self) -> list[str]:
        return []

    fallbacks = names


def recorder() -> tuple[Recorder, Any, Counters]:
    counters: Any = Counters()
    made = Recorder(counters, CallSites(frozenset(("torch",))))
    return made, made.thread(), counters


def compiled(made: Recorder) -> list[Any]:
    return [
        line for line in made.lines if isinstance(line, dict) and line.get("event") == "compile"
    ]


def test_compilation_outside_of_calls_is_noted_by_the_background() -> None:
    made, _, counters = recorder()
    counters.ended = 1

    made.note_compilations()

    assert [line["site"] for line in compiled(made)] == [None]


def test_compilation_in_a_timed_call_is_left_to_the_call() -> None:
    made, state, counters = recorder()
    counters.ended, state.inside = 1, "barrier"

    made.note_compilations()

    assert compiled(made) == []


def test_compilation_is_left_to_the_search_for_fallbacks() -> None:
    """A fallback compiles what it needs, and the search knows its line; however late it asks."""
    made, state, counters = recorder()
    counters.ended, state.probed = 1, True

    made.note_compilations()
    made.compilations.note(state, "other", 7, 2_000_000_000)

    assert [line["site"] for line in compiled(made)] == [7]
