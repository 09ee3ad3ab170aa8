"""When Python lines are recorded, and when the names of operations are asked for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.recording.bootstrap._xladoctor.torch_xla.source_lines import SourceLines

UNTIL_OFF = 16
#: What a child that inherits the environment sees, `os.environ` being Python's own copy of it.
SEEN = "import os; print(os.environ.get('XLA_HLO_DEBUG'))"


class Xla:
    """Stands in for the extension module: what it was told, and what the program has done."""

    def __init__(self, asked: bool = False, compiled: int = 0, initialized: bool = True) -> None:
        self.recording = asked  # as the program left it
        self.told = 0
        self.compiled = compiled
        self.initialized = initialized

    def _get_ir_debug(self) -> bool:
        return self.recording

    def _set_ir_debug(self, on: bool) -> None:
        self.recording = on
        self.told += 1

    def _xla_runtime_is_initialized(self) -> bool:
        return self.initialized

    def _xla_counter_value(self, name: str) -> int | None:
        assert name == "UncachedCompile"
        return self.compiled or None


def begun(xla: Xla) -> SourceLines:
    made = SourceLines(xla)
    made.begin()
    return made


@pytest.fixture
def xla() -> Xla:
    return Xla()


@pytest.fixture
def source_lines(xla: Xla) -> SourceLines:
    """After a first graph, compiled within a call."""
    made = begun(xla)
    made.before_call()
    xla.compiled = 1
    made.after_call()
    return made


def rest(source_lines: SourceLines, steps: int = UNTIL_OFF) -> None:
    for quiet in range(1, steps + 1):
        source_lines.before_call()
        source_lines.after_call()
        source_lines.step(quiet)


def inherited() -> str:
    """`XLA_HLO_DEBUG` as the C library has it, which is what torch_xla reads."""
    done = subprocess.run([sys.executable, "-c", SEEN], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_recording_from_the_start(xla: Xla) -> None:
    begun(xla)
    assert xla.recording


@pytest.mark.parametrize(("steps", "recording"), [(1, True), (15, True), (16, False), (99, False)])
def test_loop_at_rest_is_not_recorded(
    xla: Xla, source_lines: SourceLines, steps: int, recording: bool
) -> None:
    rest(source_lines, steps)
    assert xla.recording == recording


def test_compilation_has_the_next_steps_recorded(xla: Xla, source_lines: SourceLines) -> None:
    rest(source_lines, 40)
    source_lines.step(0)
    assert xla.recording
    rest(source_lines)
    assert not xla.recording


def test_names_are_asked_for_within_the_calls_up_to_the_first_graph(xla: Xla) -> None:
    source_lines = begun(xla)
    source_lines.before_call()
    assert inherited() == "1"
    assert "XLA_HLO_DEBUG" not in os.environ
    source_lines.after_call()
    assert inherited() == "None"
    source_lines.before_call()
    xla.compiled = 1
    source_lines.after_call()
    assert inherited() == "None"
    source_lines.before_call()
    assert inherited() == "None"


def test_names_are_not_asked_for_before_there_is_a_client() -> None:
    source_lines = begun(Xla(initialized=False))
    source_lines.before_call()
    assert inherited() == "None"


def test_last_of_several_threads_takes_the_question_back(xla: Xla) -> None:
    source_lines = begun(xla)
    source_lines.before_call()
    source_lines.before_call()
    source_lines.after_call()
    assert inherited() == "1"
    source_lines.after_call()
    assert inherited() == "None"


def test_graphs_without_names_are_recorded_for_ever() -> None:
    xla = Xla(compiled=3)  # before the capture began
    source_lines = begun(xla)
    rest(source_lines, 99)
    assert xla.recording
    assert inherited() == "None"


@pytest.mark.parametrize("leave", [SourceLines.end, SourceLines.forget])
def test_question_does_not_outlive_the_capture(xla: Xla, leave: object) -> None:
    source_lines = begun(xla)
    source_lines.before_call()
    assert callable(leave)
    leave(source_lines)
    assert inherited() == "None"


@pytest.mark.parametrize("value", ["0", "1"])
def test_user_s_own_answer_is_kept(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_HLO_DEBUG", value)
    xla = Xla()
    source_lines = begun(xla)
    source_lines.before_call()
    xla.compiled = 1
    source_lines.after_call()
    assert inherited() == value
    rest(source_lines, 99)
    assert xla.recording == (value == "0")


@pytest.mark.parametrize("steps", [0, 40])
def test_in_the_end_it_is_off(xla: Xla, source_lines: SourceLines, steps: int) -> None:
    rest(source_lines, steps)
    source_lines.end()
    assert xla.recording is False


def test_user_who_asked_for_it_keeps_it() -> None:
    xla = Xla(asked=True)
    source_lines = begun(xla)
    rest(source_lines, 40)
    source_lines.step(0)
    source_lines.end()
    assert xla.told == 0


@given(st.lists(st.sampled_from(["enter", "leave", "quiet", "quiet", "quiet", "compiled"])))
def test_it_is_on_while_graphs_are_new_or_without_names(actions: list[str]) -> None:
    xla = Xla()
    source_lines = begun(xla)
    inside, quiet, named = 0, 0, False
    for action in [*["quiet"] * 14, *actions]:
        if action == "enter":
            source_lines.before_call()
            inside += 1
        elif action == "leave" and inside:
            source_lines.after_call()
            inside -= 1
            named = named or bool(xla.compiled)
        elif action in ("quiet", "compiled"):
            xla.compiled += action == "compiled" and inside > 0
            quiet = 0 if action == "compiled" else quiet + 1
            source_lines.step(quiet)
            assert xla.recording == (quiet < UNTIL_OFF or not named)
    source_lines.end()
