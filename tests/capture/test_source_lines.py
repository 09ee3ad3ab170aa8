"""When Python lines are recorded: while graphs are new, and while one is lowered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.capture.bootstrap._xladoctor.source_lines import SourceLines

UNTIL_OFF = 16


class Xla:
    """Stands in for the extension module: whether it records, and how often it was told so."""

    def __init__(self, asked: bool = False) -> None:
        self.recording = asked  # as the program left it
        self.told = 0

    def _get_ir_debug(self) -> bool:
        return self.recording

    def _set_ir_debug(self, on: bool) -> None:
        self.recording = on
        self.told += 1


@pytest.fixture
def xla() -> Xla:
    return Xla()


@pytest.fixture
def source_lines(xla: Xla) -> SourceLines:
    made = SourceLines(xla)
    made.begin()
    return made


def call(source_lines: SourceLines) -> None:
    source_lines.before_call()
    source_lines.after_call()


def rest(source_lines: SourceLines, steps: int = UNTIL_OFF) -> None:
    for _ in range(steps):
        source_lines.before_call()
        source_lines.after_call()
        source_lines.step(False)


def test_recording_from_the_start(xla: Xla, source_lines: SourceLines) -> None:
    assert xla.recording


@pytest.mark.parametrize(("steps", "recording"), [(1, True), (15, True), (16, False), (99, False)])
def test_loop_at_rest_is_not_recorded(
    xla: Xla, source_lines: SourceLines, steps: int, recording: bool
) -> None:
    rest(source_lines, steps)
    assert xla.recording == recording
    assert source_lines.quiet == steps


def test_compilation_has_the_next_steps_recorded(xla: Xla, source_lines: SourceLines) -> None:
    rest(source_lines, 40)
    source_lines.step(True)
    assert xla.recording
    assert source_lines.quiet == 0
    rest(source_lines)
    assert not xla.recording


def test_call_that_may_lower_a_graph_is_recorded_at_rest(
    xla: Xla, source_lines: SourceLines
) -> None:
    rest(source_lines)
    source_lines.before_call()
    assert xla.recording
    source_lines.after_call()
    assert not xla.recording


def test_call_while_recording_sets_nothing(xla: Xla, source_lines: SourceLines) -> None:
    before = xla.told
    call(source_lines)
    assert xla.told == before


def test_last_of_several_threads_switches_it_off(xla: Xla, source_lines: SourceLines) -> None:
    rest(source_lines)
    source_lines.before_call()
    source_lines.before_call()
    source_lines.after_call()
    assert xla.recording
    source_lines.after_call()
    assert not xla.recording


def test_loop_that_comes_to_rest_while_another_thread_lowers(
    xla: Xla, source_lines: SourceLines
) -> None:
    source_lines.before_call()
    for _ in range(UNTIL_OFF):
        source_lines.step(False)
    assert xla.recording
    source_lines.after_call()
    assert not xla.recording


@pytest.mark.parametrize("steps", [0, 40])
def test_in_the_end_it_is_off(xla: Xla, source_lines: SourceLines, steps: int) -> None:
    rest(source_lines, steps)
    source_lines.end()
    assert xla.recording is False


def test_user_who_asked_for_it_keeps_it() -> None:
    xla = Xla(asked=True)
    source_lines = SourceLines(xla)
    source_lines.begin()
    rest(source_lines, 40)
    source_lines.step(True)
    source_lines.end()
    assert xla.told == 0
    assert source_lines.quiet == 0


@given(st.lists(st.sampled_from(["enter", "leave", "quiet", "quiet", "quiet", "compiled"])))
def test_it_is_on_while_graphs_are_new_or_lowered_and_off_otherwise(actions: list[str]) -> None:
    xla = Xla()
    source_lines = SourceLines(xla)
    source_lines.begin()
    inside = quiet = 0
    for action in [*["quiet"] * 14, *actions]:
        if action == "enter":
            source_lines.before_call()
            inside += 1
        elif action == "leave" and inside:
            source_lines.after_call()
            inside -= 1
        elif action in ("quiet", "compiled"):
            source_lines.step(action == "compiled")
            quiet = 0 if action == "compiled" else quiet + 1
        assert xla.recording == (quiet < UNTIL_OFF or inside > 0)
