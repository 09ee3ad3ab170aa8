"""Calibrates readings on two devices, which always share a batch by its rows.

However the files were divided, the batches are divided in one way, so the step is compiled once.
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
FILES = 3
DIVISION = ("data", None)


def batches():
    """Yield readings, file after file."""
    for _ in range(FILES * STEPS_PER_FILE):
        yield torch.randn(BATCH, SENSORS)


@torch.no_grad()
def calibrate(gains, offsets, mesh, device):
    results = []
    for readings in batches():
        readings = readings.to(device)
        xs.mark_sharding(readings, mesh, DIVISION)
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
