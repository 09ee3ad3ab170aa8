"""The stacks of a captured program, read while it waits for the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.harness import LIVE, ON_DEVICE
from tests.stacks.programs import hanging, line_of
from xladoctor.stacks.dump import dump
from xladoctor.stacks.interface import Kind
from xladoctor.stacks.verdict import of_process

pytestmark = LIVE

READS = f"""{ON_DEVICE}
large = torch.ones(2000, 2000).to(device)
print("ready", flush=True)
while True:
    for _ in range(40):
        large = large @ large / 2000
    torch_xla.sync()
    large.sum().item()
"""


@pytest.mark.thorough
def test_read_of_a_value(tmp_path: Path) -> None:
    with hanging(tmp_path, READS, env={"PJRT_DEVICE": "CPU"}) as pid:
        verdict = of_process(dump(pid, native=True))
    assert verdict.kind is Kind.transfer, verdict
    assert verdict.frame is not None
    assert verdict.frame.line == line_of(tmp_path, ".item()")
