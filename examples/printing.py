"""Fits a curve and prints the loss, a tensor on the device, at every step.

To print it is to fetch it: the host waits for the step to end before it begins the next.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 256
STEPS = 40


def batches(steps):
    """Yield fresh points on a sine."""
    for _ in range(steps):
        inputs = 4 * torch.rand(BATCH, 1) - 2
        yield inputs, torch.sin(2 * inputs)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for step, (inputs, targets) in enumerate(batches(STEPS)):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        print("step", step, "loss", loss)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train(nn.Sequential(nn.Linear(1, 128), nn.Tanh(), nn.Linear(128, 1)).to(device), device)


if __name__ == "__main__":
    main()
