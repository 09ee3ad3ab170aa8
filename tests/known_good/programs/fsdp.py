"""Trains a model whose parameters are sharded over all devices, by FSDP over SPMD."""

import numpy as np
import torch
import torch.utils.data
import torch_xla
import torch_xla.distributed.parallel_loader as pl
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn
from torch_xla.experimental.spmd_fully_sharded_data_parallel import SpmdFullyShardedDataParallel

BATCH, BATCHES = 16, 50


def sharded_output(output, mesh):
    xs.mark_sharding(output, mesh, ("fsdp", None))


def main():
    xr.use_spmd()
    torch.manual_seed(0)
    devices = xr.global_runtime_device_count()
    mesh = xs.Mesh(np.arange(devices), (devices, 1), ("fsdp", "model"))
    xs.set_global_mesh(mesh)
    device = torch_xla.device()
    model = SpmdFullyShardedDataParallel(
        nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 16)).to(device),
        shard_output=sharded_output,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(
        torch.randn(BATCH * BATCHES, 64), torch.randn(BATCH * BATCHES, 16)
    )
    loader = torch.utils.data.DataLoader(data, BATCH, drop_last=True)
    batches = pl.MpDeviceLoader(
        loader, device, input_sharding=xs.ShardingSpec(mesh, ("fsdp", None))
    )
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
    torch_xla.sync()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
