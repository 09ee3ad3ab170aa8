"""Which environment variables are the user's, and which line set them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from xladoctor.recording.bootstrap._xladoctor import settings
from xladoctor.recording.bootstrap._xladoctor.settings import SettingsWatch
from xladoctor.recording.bootstrap._xladoctor.torch_xla import FRONTEND

NAMES = ("XLADOCTOR_TEST_A", "XLADOCTOR_TEST_B")
LOG = ("PT_XLA_DEBUG_LEVEL", "PT_XLA_DEBUG_MAX_FRAME", "PT_XLA_DEBUG_FILE")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, *LOG, settings.OURS):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def watch() -> Iterator[SettingsWatch]:
    made = SettingsWatch()
    made.install()
    yield made
    made.uninstall()


def test_what_the_capture_set_is_not_the_user_s() -> None:
    os.environ[NAMES[0]] = "mine"
    settings.set_for_capture({NAMES[1]: "1"})
    assert settings.users(NAMES) == {NAMES[0]: "mine"}
    assert os.environ[NAMES[1]] == "1"


@pytest.mark.parametrize("text", ["", "²", "-1", "1e3", "9" * 5000, "٣"])
def test_variable_that_holds_no_number_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAMES[0], text)
    assert settings.whole_number(NAMES[0]) is None
    monkeypatch.setenv(NAMES[0], "12")
    assert settings.whole_number(NAMES[0]) == 12


def test_line_of_the_program_is_remembered(watch: SettingsWatch) -> None:
    os.environ[NAMES[0]] = "1"
    file, line, function = watch.set_at(NAMES)[NAMES[0]]
    assert (file, function) == (__file__, "test_line_of_the_program_is_remembered")
    assert line == test_line_of_the_program_is_remembered.__code__.co_firstlineno + 1


def test_settings_of_the_capture_have_no_line(watch: SettingsWatch) -> None:
    assert FRONTEND.begin_log("analysis.log", {}) is None
    assert os.environ["PT_XLA_DEBUG_FILE"] == "analysis.log"
    assert watch.set_at(FRONTEND.recorded) == {}
    assert settings.users(LOG) == {}


def test_user_who_debugs_keeps_the_log() -> None:
    why = FRONTEND.begin_log("analysis.log", {"PT_XLA_DEBUG": "1"})
    assert why == "PT_XLA_DEBUG set by the program or its environment"
    assert not [name for name in LOG if name in os.environ]


def test_watch_can_be_taken_off_again(watch: SettingsWatch) -> None:
    watch.uninstall()
    os.environ[NAMES[0]] = "1"
    assert watch.set_at(NAMES) == {}
