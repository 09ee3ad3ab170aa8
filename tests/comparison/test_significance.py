"""The interval of the change of a step's time: symmetric, without units, and right often enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from xladoctor.comparison.interface import LEAST
from xladoctor.comparison.significance import block_length, change, effective


def autocorrelated(seed: int, n: int, rho: float, spread: float = 0.1) -> list[float]:
    """Step times about 10 ms whose logarithms are an AR(1)."""
    noise = np.random.default_rng(seed).standard_normal(n)
    values = [noise[0]]
    for sample in noise[1:]:
        values.append(rho * values[-1] + np.sqrt(1 - rho * rho) * sample)
    return [float(10 * np.exp(spread * value)) for value in values]


samples = st.builds(
    autocorrelated,
    st.integers(0, 10_000),
    st.integers(3, 120),
    st.floats(0, 0.9),
    st.floats(0.001, 0.5),
)


@settings(max_examples=30, deadline=None)
@given(samples, samples)
def test_exchanging_the_runs_inverts_the_change(a: list[float], b: list[float]) -> None:
    there, back = change(a, b), change(b, a)
    assert (there is None) == (back is None)
    if there and back:
        assert 1 + there.change == pytest.approx(1 / (1 + back.change))
        assert 1 + there.low == pytest.approx(1 / (1 + back.high))
        assert 1 + there.high == pytest.approx(1 / (1 + back.low))


@settings(max_examples=30, deadline=None)
@given(samples)
def test_run_is_like_itself(a: list[float]) -> None:
    became = change(a, a)
    assume(became is not None)
    assert became is not None
    assert became.change == 0
    assert became.low <= 0 <= became.high


@settings(max_examples=30, deadline=None)
@given(samples, samples, st.floats(0.001, 1000))
def test_unit_does_not_matter(a: list[float], b: list[float], unit: float) -> None:
    expected, scaled = change(a, b), change([x * unit for x in a], [x * unit for x in b])
    assume(expected is not None)
    assert expected is not None
    assert scaled is not None
    for name in ("change", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(expected, name), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(samples, st.floats(0.2, 5))
def test_scaling_one_run_is_the_change(a: list[float], factor: float) -> None:
    became = change(a, [x * factor for x in a])
    assume(became is not None)
    assert became is not None
    assert became.change == pytest.approx(factor - 1)
    assert became.low <= became.change + 1e-9
    assert became.high >= became.change - 1e-9


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("n", [40, 120])
def test_two_runs_alike_are_seldom_told_apart(rho: float, n: int) -> None:
    wrong = 0
    for seed in range(60):
        became = change(autocorrelated(2 * seed, n, rho), autocorrelated(2 * seed + 1, n, rho))
        wrong += became is not None and not became.low <= 0 <= became.high
    assert wrong <= 8  # of 60: 5% are expected; so many come by chance once in 500 times


def test_interval_narrows_with_more_steps() -> None:
    widths = []
    for n in (50, 200, 800):
        became = change(autocorrelated(1, n, 0.3), autocorrelated(2, n, 0.3))
        assert became is not None
        widths.append(became.high - became.low)
    assert widths == sorted(widths, reverse=True)


def test_large_change_is_seen_and_a_slow_step_is_not_one() -> None:
    calm, slow = autocorrelated(1, 60, 0), [x * 1.5 for x in autocorrelated(2, 60, 0)]
    became = change(calm, slow)
    assert became is not None
    assert became.low > 0.3
    outlier = change(calm, [*autocorrelated(3, 59, 0), 5000.0])
    assert outlier is not None
    assert outlier.low <= 0 <= outlier.high


def test_few_steps_or_steps_that_go_together_tell_nothing() -> None:
    many = autocorrelated(1, 100, 0)
    assert change(many, many[: LEAST - 1]) is None
    assert change([10.0] * 20 + [20.0] * 20, many) is None  # one shift: two levels, no more
    assert change(many, []) is None


def test_constant_times_have_no_spread() -> None:
    assert effective([1.0] * 30) == 30
    became = change([1.0] * 30, [2.0] * 30)
    assert became is not None
    assert (became.change, became.low, became.high) == pytest.approx((1, 1, 1))


def test_blocks_grow_with_what_neighbours_share_up_to_a_third() -> None:
    lengths = [block_length(autocorrelated(5, 300, rho)) for rho in (0.0, 0.5, 0.9)]
    assert lengths == sorted(lengths)
    assert lengths[0] <= 4
    assert block_length(list(range(1, 31))) == 10


def test_very_long_runs_are_thinned() -> None:
    long = autocorrelated(4, 20_000, 0)
    became = change(long, [x * 1.2 for x in long])
    assert became is not None
    assert became.low > 0.15
