"""Trains on three tasks whose weights are drawn in Python in every step: none, half or full.

Most numbers are data to the graph, but 0 and 1 are constants of it, so the training step is
compiled again for each pattern of zeros and ones among the weights.
"""

import random

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
TASKS = 3
STEPS = 24


def batches(steps):
    """Yield fresh samples with a target for each task."""
    mixing = torch.randn(FEATURES, TASKS) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ mixing)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        weights = random.choices((0.0, 0.5, 1.0), k=TASKS)
        optimizer.zero_grad()
        losses = mse_loss(model(inputs), targets, reduction="none").mean(dim=0)
        loss = sum(weight * task_loss for weight, task_loss in zip(weights, losses, strict=True))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    random.seed(1)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, TASKS)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
