"""Trains a network whose two layers are divided in turn, by outputs and by inputs, over pairs of
eight devices."""

import os

os.environ["CPU_NUM_DEVICES"] = "8"
os.environ["NPROC"] = "16"  # threads: with fewer, devices that wait for others block them

import numpy as np
import torch
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn

BATCH = 256
WIDTH = 256
STEPS = 25


def build(device, mesh):
    up, down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)
    model = nn.Sequential(up, nn.ReLU(), down).to(device)
    xs.mark_sharding(up.weight, mesh, ("model", None))
    xs.mark_sharding(down.weight, mesh, (None, "model"))
    return model


def main():
    torch.manual_seed(0)
    xr.use_spmd()
    mesh = xs.Mesh(np.arange(8), (4, 2), ("data", "model"))
    device = torch_xla.device()
    model = build(device, mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, WIDTH).to(device)
        loss = nn.functional.mse_loss(model(inputs), inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch_xla.sync()
    print(f"final loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
