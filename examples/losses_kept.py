"""Fits a function and keeps each step's loss in a list, for an average at the end.

Each loss is one more tensor of the device, and keeps the graph of its backward pass on the host.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 200


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss)
        torch_xla.sync()
    return torch.stack(losses).tolist()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    losses = train(model, device)
    print(f"average loss {sum(losses) / len(losses):.6f}")


if __name__ == "__main__":
    main()
