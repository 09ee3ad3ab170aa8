"""Fits a function; waits for the device after every barrier, and then reads the loss.

The wait is what the program chose. The read itself then costs nothing: the value is computed, and
taking it away would not make a step shorter.
"""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
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
        torch_xla.sync()
        xm.wait_device_ops()
        total += loss.item()
    return total / STEPS


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = nn.Linear(FEATURES, 2048), nn.Tanh(), nn.Linear(2048, 1)
    print(f"mean loss {train(nn.Sequential(*layers).to(device), device):.9g}")


if __name__ == "__main__":
    main()
