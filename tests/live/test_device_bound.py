"""Defects that cost little, because the device is busy all the time anyway."""

from __future__ import annotations

from typing import Any

import pytest

from tests.live.harness import EXAMPLES, LIVE, Captured, Captures, line_of

pytestmark = [*LIVE, pytest.mark.thorough]

#: Rule and guilty line of each; a program whose wait for input is hidden has no finding.
HIDDEN = {
    "scalar_read": ("XD201", "running_loss += loss.item()"),
    "extra_barriers": ("XD302", "torch_xla.sync()  # runs the forward pass"),
    "sequence_length": ("XD101", "readings, lengths, labels = readings.to(device)"),
    "missing_lowering": ("XD402", "counts += torch.histc"),
    "slow_input": None,
}


@pytest.fixture(
    scope="session",
    params=[pytest.param(name, marks=pytest.mark.xdist_group(f"bound {name}")) for name in HIDDEN],
)
def bound(request: pytest.FixtureRequest, captured: Captures) -> Captured:
    """A captured run of each program."""
    return captured(EXAMPLES / "device_bound" / f"{request.param}.py")


def test_finding_is_at_its_line_and_is_said_to_gain_little(bound: Captured) -> None:
    expected = HIDDEN[bound.program.stem]
    report = bound.report
    if expected is None:  # but for what a busy machine makes of it
        rest = [f for f in report["findings"] if f["severity"] != "info"]
        assert [f["rule"] for f in rest if f["cause"].get("idle_share", 1) > 0.3] == []
        return
    rule, text = expected
    first: dict[str, Any] = bound.findings(rule)[0]
    assert first["locations"][0]["line"] == line_of(bound.program, text)
    assert first["saving"]["basis"] == "estimate"
    assert first["saving"]["share"] < 0.15
    assert first["saving"]["limited_by"] == "device"


def test_program_is_bound_by_the_device(bound: Captured) -> None:
    assert bound.report["verdict"]["bound_by"] == "device", bound.report["verdict"]["text"]
