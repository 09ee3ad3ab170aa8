"""Named scopes on a report: short, whatever they are called."""

from __future__ import annotations

import pytest

from xladoctor.diagnosis.device_use import DeviceScope, DeviceUse
from xladoctor.report.devices import describe


@pytest.mark.parametrize(
    ("scope", "shown"),
    [
        ("encoder > mlp", "encoder > mlp"),
        (
            " > ".join(["Transformer", *(f"encoderblock_{n}" for n in range(5)), "Dense_0"]),
            "… > encoderblock_2 > encoderblock_3 > encoderblock_4 > Dense_0",
        ),
        ("x" * 300, f"… > {'x' * 59}…"),
    ],
    ids=["short", "deep", "long"],
)
def test_scopes_are_shown_in_short(scope: str, shown: str) -> None:
    device = DeviceUse(
        "0", 0, "/device:TPU:0", "TPU", 5, 1.0, {}, [], [DeviceScope(scope, 1.0, 0.5)]
    )
    said = describe([device])[-1]
    assert said == f"longest named scopes (share of the device's time): {shown} 50%"
