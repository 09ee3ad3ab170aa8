"""On a busy machine every time is longer: the report says so, and no rule judges by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.busy import busy_machine
from tests.live.harness import LIVE, command, write

pytestmark = [
    *LIVE,
    pytest.mark.thorough,  # what made evidence shows too; and no other test may wait for it
    pytest.mark.skipif(
        not Path("/proc/self/schedstat").exists(), reason="the kernel does not tell of waits"
    ),
]

TRAIN = """
    import time

    import torch
    import torch_xla
    from torch.utils.data import DataLoader, Dataset


    def compute(milliseconds):
        end = time.thread_time() + milliseconds / 1e3
        while time.thread_time() < end:
            pass


    class Samples(Dataset):
        def __len__(self):
            return 100

        def __getitem__(self, index):
            compute(6)
            return torch.full((8, 64), index / 100)


    device = torch_xla.device()
    model = torch.nn.Linear(64, 1).to(device)
    for inputs in DataLoader(Samples(), batch_size=None):
        model.zero_grad()
        model(inputs.to(device)).square().mean().backward()
        compute(20)
        torch_xla.sync()
    """


def test_nothing_is_blamed_for_what_other_processes_take(tmp_path: Path) -> None:
    """Alone it makes a batch in 6 ms and computes for 20 ms, less than is worth a finding."""
    program = write(tmp_path, "train.py", TRAIN)
    with busy_machine():
        run = command(tmp_path / "out", program, cwd=tmp_path)

    assert {f["severity"] for f in run.report["findings"]} <= {"info"}, run.report["findings"]
    assert [w for w in run.report["warnings"] if "the machine was busy" in w]
