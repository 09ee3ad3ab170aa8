"""Times, sizes and shares as people write and read them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.errors import XladoctorError
from xladoctor.quantities import duration, first_few, parse_duration, parse_size, percent


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("500ms", 0.5),
        ("30m", 1800),
        ("2h", 7200),
        ("15", 15),
        ("1.5m", 90),
        (".5s", 0.5),
        ("2.", 2),
        (" 3S ", 3),
        ("007s", 7),
    ],
)
def test_time(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256M", 256_000_000),
        ("2G", 2 * 10**9),
        ("500k", 500_000),
        ("1000000", 10**6),
        ("1.5g", 1_500_000_000),
        ("64MB", 64_000_000),
        ("10b", 10),
        ("5Kb", 5000),
        (" 1M ", 10**6),
        ("2GiB", 2 * 2**30),
        ("1 ki", 1024),
        ("800 MB", 8 * 10**8),
        ("3T", 3 * 10**12),
    ],
)
def test_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "s",
        "soon",
        "-5s",
        "0",
        "0.0h",
        "1d",
        "1 h",
        "1h30m",
        "1,5s",
        ".",
        "inf",
        "nan",
        "1e3",
        "5ss",
        "0x5",
    ],
)
def test_what_is_no_time_says_what_one_is(text: str) -> None:
    with pytest.raises(XladoctorError) as caught:
        parse_duration(text)
    assert caught.value.what == f"{text!r} is not a time"
    assert "90s" in caught.value.hint


@pytest.mark.parametrize(
    "text", ["", "M", "big", "-5M", "0", "0G", "0.1", "5 Mo", "5P", "5iB", "1e6", "1,5G", "."]
)
def test_what_is_no_size_says_what_one_is(text: str) -> None:
    with pytest.raises(XladoctorError) as caught:
        parse_size(text)
    assert caught.value.what == f"{text!r} is not a size"
    assert "256M" in caught.value.hint


units = st.sampled_from([("ms", 1e-3), ("s", 1), ("m", 60), ("h", 3600), ("", 1), ("MS", 1e-3)])
sizes = st.sampled_from([("", 1), ("k", 10**3), ("M", 10**6), ("g", 10**9), ("GB", 10**9)])


@given(st.integers(1, 10**9), units)
def test_any_whole_number_of_a_unit_of_time(number: int, unit: tuple[str, float]) -> None:
    assert parse_duration(f"{number}{unit[0]}") == pytest.approx(number * unit[1])


@given(st.integers(1, 10**6), sizes)
def test_any_whole_number_of_a_unit_of_size_is_exact(number: int, unit: tuple[str, int]) -> None:
    assert parse_size(f"{number}{unit[0]}") == number * unit[1]


@given(st.text() | st.from_regex(r"[\d.]+(ms|[smhkgbMG])*", fullmatch=True))
def test_any_text_is_a_quantity_above_zero_or_an_error_for_the_user(text: str) -> None:
    for parse in (parse_duration, parse_size):
        with contextlib.suppress(XladoctorError):
            assert parse(text) > 0


def test_nothing_at_all_is_taken_where_it_will_do() -> None:
    assert parse_duration("0s", zero=True) == 0
    assert parse_size("0", zero=True) == 0


def test_size_beyond_all_bounds_is_no_traceback() -> None:
    with contextlib.suppress(XladoctorError):
        assert parse_size("9" * 400) > 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 µs"),
        (0.00084, "840 µs"),
        (0.001, "1 ms"),
        (0.01214, "12.1 ms"),
        (0.999, "999 ms"),
        (0.9996, "1 s"),
        (3.42, "3.42 s"),
        (119.6, "2 min 00 s"),
        (125, "2 min 05 s"),
        (3600, "60 min 00 s"),
        (9780, "2 h 43 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.floats(0, 1e6))
def test_duration_never_needs_an_exponent(seconds: float) -> None:
    assert "e" not in duration(seconds)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (0.0001, "<1%"), (0.005, "<1%"), (0.0051, "1%"), (0.126, "13%"), (1, "100%")],
)
def test_percent(share: float, text: str) -> None:
    assert percent(share) == text


@given(st.floats(0, 1, exclude_min=True))
def test_what_is_there_is_never_shown_as_nothing(share: float) -> None:
    assert percent(share) != "0%"


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b, c"), (list("abcde"), "a, b, c and 2 more")],
)
def test_first_few(names: list[str], text: str) -> None:
    assert first_few(names) == text
