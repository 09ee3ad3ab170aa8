"""Trains a network in eager mode, in which each operator is a program of its own.

Some fifty operators are compiled one by one, and about eighty launched in each step.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss
from torch_xla.experimental import eager_mode

BATCH = 32
FEATURES = 64
STEPS = 40


def make_model():
    return nn.Sequential(nn.Linear(FEATURES, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 1))


def batches(steps):
    """Yield fresh numbers, and their sums."""
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, inputs.sum(dim=1, keepdim=True)


def train(model, device):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    eager_mode(True)
    device = torch_xla.device()
    loss = train(make_model().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
