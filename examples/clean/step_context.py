"""Trains in `with torch_xla.step()`, which sets a barrier where it begins and where it ends."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 128
FEATURES = 32
STEPS = 40


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for inputs, targets in batches(STEPS):
        with torch_xla.step():
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            loss = mse_loss(model(inputs), targets)
            loss.backward()
            optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
