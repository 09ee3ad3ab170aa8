"""Instants of the capture while somebody sets the wall clock."""

from __future__ import annotations

import time

import pytest

from xladoctor.recording.bootstrap._xladoctor import clock

HOUR_NS = 3600 * 10**9


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_seen", [(time.time_ns() - time.perf_counter_ns(), 0)])


@pytest.mark.parametrize("jump", [HOUR_NS, -HOUR_NS, 200_000_000])
def test_jump_is_told_and_left_out_of_instants(monkeypatch: pytest.MonkeyPatch, jump: int) -> None:
    before = clock.time_ns()
    monkeypatch.setattr(clock, "wall_ns", lambda: time.time_ns() + jump)
    assert 0 <= clock.time_ns() - before < 100_000_000
    assert clock.jumped_ns() == pytest.approx(jump, abs=10_000_000)

    monkeypatch.setattr(clock, "wall_ns", time.time_ns)  # and back again
    assert 0 <= clock.time_ns() - before < 100_000_000
    assert clock.jumped_ns() == pytest.approx(0, abs=10_000_000)


def test_slow_drift_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework's own instants are the wall clock's, with which ours are compared."""
    for drift in range(0, HOUR_NS // 1000, 50_000_000):
        monkeypatch.setattr(clock, "wall_ns", lambda drift=drift: time.time_ns() + drift)
        assert clock.time_ns() == pytest.approx(time.time_ns() + drift, abs=20_000_000)
    assert clock.jumped_ns() == 0
