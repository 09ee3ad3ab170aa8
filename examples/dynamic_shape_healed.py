"""Trains on readings with gaps; the missing ones weigh nothing in the loss.

`torch.where` puts a zero error where nothing is known instead of cutting it out, so every shape
is fixed: one compilation, and nothing to find on the host. The loss is the same.
"""

import torch
import torch_xla
from torch import nn

BATCH = 64
SENSORS = 8
STEPS = 20


def batches(steps):
    """Yield readings at one moment and those at the next, of which a few are missing."""
    mixing = torch.randn(SENSORS, SENSORS) / SENSORS**0.5
    for _ in range(steps):
        readings = torch.randn(BATCH, SENSORS)
        missing = torch.rand(BATCH, SENSORS) < 0.05
        yield readings, (readings @ mixing).masked_fill(missing, float("nan"))


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for readings, targets in batches(STEPS):
        readings, targets = readings.to(device), targets.to(device)
        optimizer.zero_grad()
        predictions = model(readings)
        known = ~torch.isnan(targets)
        errors = torch.where(known, predictions - targets, 0.0)
        loss = errors.square().sum() / known.sum()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(nn.Linear(SENSORS, SENSORS).to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
