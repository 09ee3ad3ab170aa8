"""Trains a model that is sharded over four devices by SPMD, its input over the batch."""

import numpy as np
import torch
import torch.utils.data
import torch_xla
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn

BATCH, BATCHES, EPOCHS = 32, 30, 2


def main():
    xr.use_spmd()
    torch.manual_seed(0)
    devices = xr.global_runtime_device_count()
    mesh = xs.Mesh(np.arange(devices), (devices, 1), ("data", "model"))
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    xs.mark_sharding(model[0].weight, mesh, ("model", None))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    targets = nn.functional.one_hot(torch.randint(0, 10, (BATCH * BATCHES,)), 10).float()
    data = torch.utils.data.TensorDataset(torch.randn(BATCH * BATCHES, 128), targets)
    loader = torch.utils.data.DataLoader(data, BATCH, drop_last=True)
    batches = pl.MpDeviceLoader(
        loader, device, input_sharding=xs.ShardingSpec(mesh, ("data", None))
    )
    for epoch in range(EPOCHS):
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
        torch_xla.sync()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
