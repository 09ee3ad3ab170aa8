"""Trains with a barrier in every step, and prints the losses at the end.

The barrier computes the updated weights, so the next step begins with data and not with the
updates that led to them; all steps have one graph.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 10


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        torch_xla.sync()
    for step, loss in enumerate(losses):
        print(f"step {step} loss {loss.item():.9g}")


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train(nn.Linear(FEATURES, 1).to(device), device)


if __name__ == "__main__":
    main()
