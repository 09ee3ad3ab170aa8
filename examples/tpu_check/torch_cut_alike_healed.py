"""Trains a network whose two layers are divided in turn, by outputs and by inputs,
over four devices."""

import os

os.environ.setdefault("CPU_NUM_DEVICES", "4")

import numpy as np
import torch
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn

BATCH = 256
WIDTH = 1024
STEPS = 20
BY_OUTPUTS = ("model", None)
BY_INPUTS = (None, "model")


def build(device, mesh):
    up, down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)
    model = nn.Sequential(up, nn.ReLU(), down).to(device, torch.bfloat16)
    xs.mark_sharding(up.weight, mesh, BY_OUTPUTS)
    xs.mark_sharding(down.weight, mesh, BY_INPUTS)
    return model


def main():
    torch.manual_seed(0)
    xr.use_spmd()
    devices = xr.global_runtime_device_count()
    mesh = xs.Mesh(np.arange(devices), (devices,), ("model",))
    device = torch_xla.device()
    model = build(device, mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, WIDTH).to(device, torch.bfloat16)
        loss = nn.functional.mse_loss(model(inputs).float(), inputs.float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch_xla.sync()
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
