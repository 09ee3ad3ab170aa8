"""A program of several processes, moved, computes what each process is to compute."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch

from tests.move.test_cases import moved

PROGRAM = """\
import json
import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr
from torch_xla.distributed.parallel_loader import MpDeviceLoader
from torch_xla.utils.utils import SampleGenerator


def _mp_fn(index, factor):
    rank, device = xr.global_ordinal(), torch_xla.device()
    torch.manual_seed(rank)
    data = SampleGenerator(data=(torch.randn(3, 2),), sample_count=8 // xr.world_size())
    model = torch.nn.Linear(2, 2).to(device)
    xm.broadcast_master_param(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (batch,) in MpDeviceLoader(data, device):
        optimizer.zero_grad()
        model(batch).square().sum().backward()
        xm.optimizer_step(optimizer)
    total = xm.mesh_reduce("total", factor * rank, sum)
    one = torch.full((1,), rank + 1.0, device=device)
    reduced = xm.all_reduce(xm.REDUCE_SUM, one, scale=0.5)
    gathered = xm.all_gather(one)
    xm.rendezvous("done")
    xm.save({"bias": model.bias.detach()}, "model.pt")
    weight = model.weight.detach().flatten().tolist()
    xm.master_print(json.dumps([total, reduced.item(), gathered.tolist(), one.item(), weight]))


if __name__ == "__main__":
    torch_xla.launch(_mp_fn, args=(10,))
"""


def expected(processes: int) -> list[float]:
    """The weights after the updates, with the gradients of all processes averaged."""
    batches, models = [], []
    for rank in range(processes):
        torch.manual_seed(rank)
        batches.append(torch.randn(3, 2))
        models.append(torch.nn.Linear(2, 2))
    model = models[0]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8 // processes):
        optimizer.zero_grad()
        sum(model(batch).square().sum() for batch in batches).div(processes).backward()
        optimizer.step()
    return list(model.weight.detach().flatten().tolist())


def test_processes_reduce_gather_and_average(tmp_path: Path) -> None:
    file = moved(PROGRAM, tmp_path, "torch.compile", "cpu")
    assert not file.refused
    file.path.write_text(file.moved)
    alone = [sys.executable, "train.py"]
    of_two = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py"]
    for command, processes in ((alone, 1), (of_two, 2)):
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        (line,) = [
            each for each in ran.stdout.splitlines() if each.startswith("[") and "Gloo" not in each
        ]
        total, reduced, gathered, one, weight = json.loads(line)
        ranks = range(processes)
        assert total == sum(10 * rank for rank in ranks)
        # In one process torch_xla leaves out the factor, too.
        assert reduced == (1.0 if processes == 1 else 1.5)
        assert gathered == [rank + 1.0 for rank in ranks]
        assert one == 1.0
        torch.testing.assert_close(torch.tensor(weight), torch.tensor(expected(processes)))
        assert torch.load(tmp_path / "model.pt")["bias"].device.type == "cpu"
