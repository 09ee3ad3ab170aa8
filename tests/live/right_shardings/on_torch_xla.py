"""Trains a network that is divided over eight devices as it should be: ``PROGRAM KIND``."""

import os
import sys
from functools import partial

os.environ["CPU_NUM_DEVICES"] = "8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import numpy as np
import torch
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn
from torch_xla.experimental.spmd_fully_sharded_data_parallel import (
    SpmdFullyShardedDataParallel,
)

WIDTH, BATCH, STEPS = 256, 2048, 24


def network() -> nn.Module:
    up, down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)
    return nn.Sequential(up, nn.ReLU(), down).to(torch_xla.device())


def train(model, mesh, *split):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, WIDTH).to(torch_xla.device())
        xs.mark_sharding(inputs, mesh, split)
        loss = nn.functional.mse_loss(model(inputs), inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch_xla.sync()
    print(f"final loss {loss.item():.6g}")


def data_parallel():
    train(network(), xs.Mesh(np.arange(8), (8,), ("data",)), "data", None)


def tensor_parallel():
    mesh = xs.Mesh(np.arange(8), (2, 4), ("data", "model"))
    model = network()
    xs.mark_sharding(model[0].weight, mesh, ("model", None))
    xs.mark_sharding(model[2].weight, mesh, (None, "model"))
    train(model, mesh, "data", None)


def fsdp():
    mesh = xs.Mesh(np.arange(8), (8, 1), ("fsdp", "model"))
    parts = partial(xs.mark_sharding, partition_spec=("fsdp", None))
    train(
        SpmdFullyShardedDataParallel(network(), mesh=mesh, shard_output=parts), mesh, "fsdp", None
    )


if __name__ == "__main__":
    torch.manual_seed(0)
    xr.use_spmd()
    globals()[sys.argv[1]]()
