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
