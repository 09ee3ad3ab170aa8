"""Addresses and durations of a command line."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.recording.interface import CaptureError
from xladoctor.recording.remote.address import (
    RECORDING,
    WAITING,
    parse_address,
    parse_addresses,
    parse_milliseconds,
)
from xladoctor.recording.remote.interface import Address

PORTS = st.integers(1, 65535)
NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?", fullmatch=True)


@given(NAMES | st.ip_addresses().map(str), PORTS)
def test_an_address_reads_back_as_it_is_written(host: str, port: int) -> None:
    address = Address(host, port)
    assert parse_address(str(address)) == address


@given(st.ip_addresses(v=6).map(str), PORTS)
def test_ipv6_needs_brackets(host: str, port: int) -> None:
    with pytest.raises(CaptureError, match="is not the address of a profiler server"):
        parse_address(f"{host}:{port}")


@given(st.text())
def test_any_text_is_an_address_or_refused(text: str) -> None:
    with suppress(CaptureError):
        address = parse_address(text)
        assert 0 < address.port < 65536
        assert "/" not in address.file


@pytest.mark.parametrize(
    "text",
    [
        "localhost",
        "localhost:",
        ":9012",
        "localhost:0",
        "localhost:65536",
        "localhost:http",
        "a,b:9012",
        "http://a:9012",
        "a:9012/x",
        "me@a:9012",
        "[::1]",
        "[::1:9012",
        "a:+9",
        " a:9",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(CaptureError, match="is not the address of a profiler server"):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("localhost:9012", "localhost_9012.xplane.pb"),
        ("10.0.0.2:8466", "10.0.0.2_8466.xplane.pb"),
        ("[::1]:9012", "__1_9012.xplane.pb"),
        ("[fe80::1%eth0]:9", "fe80__1_eth0_9.xplane.pb"),
    ],
)
def test_timelines_are_named_by_host_and_port(text: str, file: str) -> None:
    assert parse_address(text).file == file


def test_a_server_is_named_once() -> None:
    with pytest.raises(CaptureError, match="a:1 is named twice"):
        parse_addresses(["a:1", "b:1", "a:1"])


@given(st.integers(*RECORDING))
def test_whole_milliseconds_are_kept(milliseconds: int) -> None:
    for text in (f"{milliseconds}ms", f"{milliseconds / 1e3:.3f}s"):
        assert parse_milliseconds(text, "--duration", *RECORDING) == milliseconds


@given(st.text(max_size=12))
def test_any_text_is_a_duration_within_the_limits_or_refused(text: str) -> None:
    with suppress(CaptureError):
        assert 1 <= parse_milliseconds(text, "--duration", *RECORDING) <= 300_000


@pytest.mark.parametrize(
    "text",
    ["", "301", "s", "-3s", "3 s", "3h", "1m30s", "0s", "0.4ms", "5.01m", "9e9s", "nans", "٣s"],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(CaptureError, match="not a duration between 1ms and 5m"):
        parse_milliseconds(text, "--duration", *RECORDING)


def test_waiting_may_be_nothing_or_long() -> None:
    assert parse_milliseconds("0s", "--wait", *WAITING) == 0
    assert parse_milliseconds("90m", "--wait", *WAITING) == 90 * 60_000
