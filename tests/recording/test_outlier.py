"""Which steps count as much too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.recording.bootstrap._xladoctor.outlier import StepTimes

MS = 1_000_000
LEARNT = 50


def after(steps: int, milliseconds: float = 20) -> StepTimes:
    times = StepTimes()
    assert not any(times.is_outlier(int(milliseconds * MS)) for _ in range(steps))
    return times


@pytest.mark.parametrize(
    ("usual", "step", "outlier"),
    [
        (20, 500, True),
        (20, 130, True),
        (20, 90, False),
        (50, 240, False),
        (50, 300, True),
        (1, 80, False),
        (1, 120, True),
        (1000, 4500, False),
        (1000, 6000, True),
    ],
)
def test_step_is_five_times_as_long_and_a_tenth_of_a_second_longer(
    usual: int, step: int, outlier: bool
) -> None:
    assert after(200, usual).is_outlier(step * MS) == outlier


@pytest.mark.parametrize(("steps", "outlier"), [(0, False), (1, False), (49, False), (50, True)])
def test_first_steps_are_learnt_from_and_never_judged(steps: int, outlier: bool) -> None:
    assert after(steps).is_outlier(5000 * MS) == outlier


def test_slow_first_step_is_forgotten_while_learning() -> None:
    times = StepTimes()
    for step in [20_000 * MS, *[20 * MS] * 100]:
        assert not times.is_outlier(step)
    assert times.is_outlier(500 * MS)


def test_outlier_hardly_moves_what_is_usual() -> None:
    times = after(200)
    before = times.typical_ns
    assert times.is_outlier(60_000 * MS)
    assert times.typical_ns == pytest.approx(before, rel=0.06)
    assert times.is_outlier(500 * MS)


def test_loop_that_becomes_slower_for_good_is_usual_after_a_while() -> None:
    times = after(200)
    judged = [times.is_outlier(400 * MS) for _ in range(200)]
    assert judged[0]
    assert not any(judged[60:])


@given(st.lists(st.integers(0, 10**12), max_size=120))
def test_any_steps(steps: list[int]) -> None:
    times = StepTimes()
    for number, step in enumerate(steps):
        judged = times.is_outlier(step)
        assert times.typical_ns >= 0
        assert not judged or (number >= LEARNT and step > 100 * MS)


@given(st.lists(st.integers(15 * MS, 25 * MS), min_size=60, max_size=150))
def test_steps_that_vary_a_little_are_never_outliers_and_tell_what_is_usual(
    steps: list[int],
) -> None:
    times = StepTimes()
    assert not any(times.is_outlier(step) for step in steps)
    assert 12 * MS < times.typical_ns < 30 * MS
