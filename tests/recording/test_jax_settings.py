"""Settings of JAX that a program makes in its code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import pytest

from xladoctor.recording.bootstrap._xladoctor.call_site import CallSites
from xladoctor.recording.bootstrap._xladoctor.calls import Calls
from xladoctor.recording.bootstrap._xladoctor.event_counters import EventCounters
from xladoctor.recording.bootstrap._xladoctor.hooks import Hooks
from xladoctor.recording.bootstrap._xladoctor.jax.config_changes import ConfigChanges


class Hears:
    """The capture, as far as settings need it."""

    def __init__(self) -> None:
        self.counters = EventCounters()
        sites = CallSites({"jax", "jaxlib"})
        recorder: Any = SimpleNamespace(off=False)
        self.hooks = Hooks()
        calls = Calls(recorder, sites, None, None, self.hooks)  # type: ignore[arg-type]
        self.configured = ConfigChanges(calls, self.counters)


@pytest.fixture
def hears() -> Iterator[Hears]:
    hears = Hears()
    hears.configured.install()
    before = jax.config.jax_debug_infs
    yield hears
    hears.hooks.undo()
    jax.config.update("jax_debug_infs", before)


def line_of(text: str) -> int:
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == text)


def test_an_update_has_its_value_and_line(hears: Hears) -> None:
    jax.config.update("jax_debug_infs", True)
    line = line_of('jax.config.update("jax_debug_infs", True)')
    place = (__file__, line, "test_an_update_has_its_value_and_line")
    assert hears.configured.settings() == {"jax_debug_infs": ("True", place)}
    jax.config.update("jax_debug_infs", False)
    assert hears.configured.settings()["jax_debug_infs"][0] == "False"


def test_a_context_manager_around_the_loop_is_one_of_its_settings(hears: Hears) -> None:
    with jax.disable_jit():
        hears.counters.launches += 50
        assert [*hears.configured.settings()] == ["jax_disable_jit"]
    hears.counters.launches += 10
    (value, place) = hears.configured.settings()["jax_disable_jit"]
    assert (value, place[1]) == ("True", line_of("with jax.disable_jit():"))


def test_a_context_manager_around_a_call_is_none(hears: Hears) -> None:
    with jax.debug_nans(True):
        hears.counters.launches += 1
    hears.counters.launches += 50
    with jax.debug_nans(False):
        hears.counters.launches += 50
    assert hears.configured.settings() == {}


def test_other_settings_are_not_recorded(hears: Hears) -> None:
    jax.config.update("jax_pprint_use_color", False)
    assert hears.configured.settings() == {}
