"""Trains a residual network with stochastic depth: each block is left out at random.

The choice is a tensor of zeros and ones on the device that the blocks are multiplied by, so the
training step is one graph. SGD then also sees the blocks left out, with gradients of zero.
"""

import random

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
WIDTHS = (16, 24, 32, 48, 64)
LEFT_OUT = 0.4
STEPS = 24


class Residual(nn.Module):
    """Blocks of growing width, each of which adds to what goes through, and a linear layer."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(FEATURES, width), nn.Tanh(), nn.Linear(width, FEATURES))
            for width in WIDTHS
        )
        self.readout = nn.Linear(FEATURES, 1)

    def forward(self, inputs):
        features = inputs
        kept = torch.tensor([random.random() >= LEFT_OUT for _ in self.blocks]).to(inputs.device)
        for block, keep in zip(self.blocks, kept, strict=True):
            features = features + keep * block(features)
        return self.readout(features)


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    random.seed(0)
    device = torch_xla.device()
    loss = train(Residual().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
