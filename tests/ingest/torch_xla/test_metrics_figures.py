"""Durations and sizes as metrics reports print them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.frontends.torch_xla.ingest.metrics_figures import parse_bytes, parse_duration_ns

if TYPE_CHECKING:
    pass


TIME_PARTS = (
    ("d", 86400e9, 2, 0),
    ("h", 3600e9, 2, 0),
    ("m", 60e9, 2, 0),
    ("s", 1e9, 2, 0),
    ("ms", 1e6, 3, 0),
    ("us", 1e3, 7, 3),
)
TEN_DAYS_NS = 864_000_000_000_000


def format_duration(nanoseconds: float) -> str:
    """What MetricFnTime of torch/csrc/lazy/core/metrics.cpp makes of a duration."""
    text = ""
    for suffix, scale, width, precision in TIME_PARTS:
        count = nanoseconds / scale
        if count >= 1 or text or suffix == "us":
            text += f"{count:.{precision}f}".rjust(width, "0") + suffix
            nanoseconds -= math.floor(count) * scale
    return text


def is_tie(nanoseconds: int) -> bool:
    """Whether two durations are printed alike: what follows a field is exactly half of its unit."""
    return any(
        nanoseconds > scale and nanoseconds % scale == scale / 2
        for _, scale, _, _ in TIME_PARTS[:5]
    )


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("000.000us", 0),
        ("000.451us", 451),
        ("999.999us", 999_999),
        ("006ms710.504us", 5_710_504),
        ("03s069ms889.197us", 3_068_889_197),
        ("02h42m54s718ms044.000us", (3600 + 41 * 60 + 53) * 10**9 + 718_044_000),
        ("06m15s551ms654.655us", 374_550_654_655),
        ("18s450ms18.269us", 18_450_018_269),
        ("191ms81.607us", 191_081_607),
        ("48m60s700ms163.004us", (47 * 60 + 59) * 10**9 + 699_163_004 + 10**6),
        ("02d14h60m60s1000ms999.999us", 136_799_999_999_999),
        ("01d00h00m00s000ms000.000us", 86_400 * 10**9),
        ("002ms1000.000us", 2_000_000),
        # No formatter that rounds can have printed these; one that cuts does.
        ("001ms700.000us", 1_700_000),
        ("01s000ms700.000us", 1_000_700_000),
        # A clock that was set back, and a value just below a whole day.
        ("-5000.000us", -5_000_000),
        ("0-0.001us", -1),
        ("24h60m60s1000ms1000.000us", 86_400 * 10**9),
        ("01d-0h-0m-0s0-0ms0-0.000us", 86_400 * 10**9),
    ],
)
def test_duration(text: str, nanoseconds: int) -> None:
    assert parse_duration_ns(text) == nanoseconds


@given(st.integers(0, TEN_DAYS_NS).filter(lambda value: not is_tie(value)))
def test_whole_nanoseconds_come_back_exactly(nanoseconds: int) -> None:
    assert parse_duration_ns(format_duration(nanoseconds)) == nanoseconds


@given(
    st.sampled_from([1_000, 10**6, 10**9, 60 * 10**9, 3600 * 10**9, 86400 * 10**9]),
    st.integers(0, 40),
    st.integers(-3, 3),
)
def test_nanoseconds_around_half_units_come_back(unit: int, halves: int, off: int) -> None:
    nanoseconds = max(0, unit // 2 * halves + off)
    read_back = parse_duration_ns(format_duration(nanoseconds))
    assert read_back == nanoseconds or is_tie(nanoseconds)
    assert format_duration(read_back) == format_duration(nanoseconds)


@given(st.floats(0, TEN_DAYS_NS))
def test_fractions_come_back_within_what_is_printed(nanoseconds: float) -> None:
    off = abs(parse_duration_ns(format_duration(nanoseconds)) - nanoseconds)
    near_tie = any(is_tie(round(nanoseconds) + step) for step in (-1, 0, 1))
    assert off <= 1 or near_tie


def test_of_durations_printed_the_same_the_smallest_is_taken() -> None:
    assert format_duration(1.5e6) == format_duration(2.5e6) == "002ms500.000us"
    assert parse_duration_ns("002ms500.000us") == 1.5e6


@pytest.mark.parametrize("text", ["0000nanus", "000-nanus", "infd-nanh-nanm-nans-nanms000-nanus"])
def test_undefined_durations_are_nan(text: str) -> None:
    assert math.isnan(parse_duration_ns(text))


@pytest.mark.parametrize("text", ["", "us", "003ms", "1s", "12", "1us2ms", "4.00B", "٣us", "1us\n"])
def test_not_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0.00B", 0),
        ("4.00B", 4),
        ("57.21KB", 58_583.04),
        ("468.00MB", 490_733_568),
        ("1.50TB", 1_649_267_441_664),
        ("2048.00PB", 2.0**61),
    ],
)
def test_size(text: str, size: float) -> None:
    assert parse_bytes(text) == pytest.approx(size, rel=1e-15)


def test_undefined_size_is_nan() -> None:
    assert math.isnan(parse_bytes("nanB"))
    assert math.isnan(parse_bytes("-nanB"))


@pytest.mark.parametrize("text", ["", "B", "4", "4.00K", "1.00EB", "4.00 B", "000.451us"])
def test_not_a_size(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_bytes(text)
