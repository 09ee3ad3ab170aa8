"""Fits a function; nothing waits for the device, and the sum of the losses is read once."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 256
FEATURES = 512
STEPS = 40


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total = 0.0
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.detach()
        torch_xla.sync()
    return total.item() / STEPS


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = nn.Linear(FEATURES, 2048), nn.Tanh(), nn.Linear(2048, 1)
    print(f"mean loss {train(nn.Sequential(*layers).to(device), device):.9g}")


if __name__ == "__main__":
    main()
