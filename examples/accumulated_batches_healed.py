"""Trains a network with the gradients of sixteen batches a step, and a barrier after each batch.

The graph holds one batch; the gradients stay on the device until the update.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 32
FEATURES = 64
ACCUMULATED = 16
STEPS = 12


def make_model():
    return nn.Sequential(
        nn.Linear(FEATURES, 256),
        nn.GELU(),
        nn.LayerNorm(256),
        nn.Linear(256, 256),
        nn.GELU(),
        nn.LayerNorm(256),
        nn.Linear(256, 1),
    )


def batches(count):
    """Yield fresh numbers, and their sums."""
    for _ in range(count):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, inputs.sum(dim=1, keepdim=True)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for inputs, targets in batches(ACCUMULATED):
            inputs, targets = inputs.to(device), targets.to(device)
            loss = mse_loss(model(inputs), targets) / ACCUMULATED
            loss.backward()
            torch_xla.sync()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(make_model().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
