"""Trains without a barrier and reads the mean loss every ten steps.

Each reading compiles everything since the first step again, because the weights were never
computed: graphs of 10, 20 and 30 steps.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 30


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    total_loss = torch.zeros(1).to(device)
    for step, (inputs, targets) in enumerate(batches(STEPS), start=1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total_loss += loss.detach()
        if step % 10 == 0:
            print(f"step {step} mean loss {total_loss.item() / step:.9g}")


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    train(model, device)


if __name__ == "__main__":
    main()
