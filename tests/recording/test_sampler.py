"""Stacks of other threads are walked while nothing else can run."""

from __future__ import annotations

import gc
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from xladoctor.recording.bootstrap._xladoctor.sampler import Sampler


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_collected_during_a_walk(
    enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    recorder: Any = SimpleNamespace(by_ident={}, looking=threading.Lock())
    nothing: Any = SimpleNamespace(ident=0)

    def look(states: Any) -> Any:
        seen.append(gc.isenabled())
        return [], []

    sampler = Sampler(recorder, nothing, nothing, lambda fault: None)
    monkeypatch.setattr(sampler, "_look", look)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        sampler.sample(0.0)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
        sampler.leave()
    assert seen == [enabled and sys.version_info >= (3, 12)]


def test_counts_are_read_while_another_thread_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting garbage, which making a list of pairs may cause, lets other threads run."""
    nothing: Any = SimpleNamespace(ident=0)
    sampler = Sampler(nothing, nothing, nothing, lambda fault: None)
    counts = {("loop", n, True, None, False, False, n): 1 for n in range(2000)}
    monkeypatch.setattr(sampler, "_counts", counts)
    monkeypatch.setattr(sampler, "_since_turn", dict(counts))

    def count(phase: str, about: dict[str, int]) -> None:
        for each in (sampler._counts, sampler._since_turn):
            each["loop", len(each), True, None, False, False, None] = 1

    before, threshold = gc.isenabled(), gc.get_threshold()
    gc.callbacks.append(count)
    gc.set_threshold(10)
    gc.enable()
    try:
        rows = sampler.rows()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(count)
        (gc.enable if before else gc.disable)()
        sampler.leave()
    assert len(rows) >= 4000
