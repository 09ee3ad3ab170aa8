"""Trains without a barrier and prints the loss in every step.

Reading the loss runs what the loss needs, but the updated weights stay pending: every step
computes all the updates before it again, in a graph that is longer by one step.
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
    for step, (inputs, targets) in enumerate(batches(STEPS)):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.9g}")


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train(nn.Linear(FEATURES, 1).to(device), device)


if __name__ == "__main__":
    main()
