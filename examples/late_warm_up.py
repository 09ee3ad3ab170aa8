"""Trains on series that get longer by one number a step, until they have their full length.

The first 72 steps compile a graph each, so that whoever looks at them alone sees nothing else.
"""

import torch
import torch_xla
from torch.nn.functional import mse_loss

BATCH = 16
LENGTH = 72
STEPS = 120


def batches(steps):
    """Yield random series, and the half of each one's mean."""
    for step in range(1, steps + 1):
        series = torch.randn(BATCH, min(step, LENGTH)) + torch.randn(BATCH, 1)
        yield series, series.mean(dim=1) / 2


def train(scale, device):
    optimizer = torch.optim.SGD([scale], lr=0.1)
    for series, targets in batches(STEPS):
        series, targets = series.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(scale * series.mean(dim=1), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(torch.zeros(1).to(device).requires_grad_(), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
