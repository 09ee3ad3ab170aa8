"""Saves a checkpoint at every other step, for which the host copies and writes all weights.

It waits for the device each time, and the device for it.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 512
STEPS = 40
SAVE_EVERY = 2


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device, folder):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, (inputs, targets) in enumerate(batches(STEPS), start=1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        if step % SAVE_EVERY == 0:
            torch.save(model.state_dict(), folder / "checkpoint.pt")
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 1024), nn.Tanh(), nn.Linear(1024, 1)).to(device)
    with TemporaryDirectory() as folder:
        loss = train(model, device, Path(folder))
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
