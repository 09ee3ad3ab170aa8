"""Calibrates readings on two devices, which share each batch as its file was divided.

The devices have a program of their own for each way to divide the batch: the step is compiled
again for files that are divided by columns or not at all.
"""

import os

os.environ.setdefault("CPU_NUM_DEVICES", "2")

import torch
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr

BATCH = 64
SENSORS = 32
DEVICES = 2
STEPS_PER_FILE = 8
FILES = (("data", None), (None, "data"), (None, None))


def batches():
    """Yield readings and how they are divided among the devices, file after file."""
    for division in FILES:
        for _ in range(STEPS_PER_FILE):
            yield torch.randn(BATCH, SENSORS), division


@torch.no_grad()
def calibrate(gains, offsets, mesh, device):
    results = []
    for readings, division in batches():
        readings = readings.to(device)
        xs.mark_sharding(readings, mesh, division)
        results.append(torch.tanh(gains * readings + offsets))
        torch_xla.sync()
    return results


def main():
    torch.manual_seed(0)
    xr.use_spmd()
    mesh = xs.Mesh(list(range(DEVICES)), (DEVICES,), ("data",))
    device = torch_xla.device()
    gains, offsets = torch.rand(SENSORS).to(device), torch.rand(SENSORS).to(device)
    results = calibrate(gains, offsets, mesh, device)
    print(f"last mean {results[-1].cpu().mean().item():.9g}")


if __name__ == "__main__":
    main()
