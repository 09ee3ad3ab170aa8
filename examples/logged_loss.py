"""Fits a function and logs the loss in every step, before the barrier.

The log wants a number: the host waits for a program that computes the loss alone, and the step's
own program then computes it a second time.
"""

import logging

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 128
FEATURES = 32
STEPS = 40

log = logging.getLogger("train")


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, (inputs, targets) in enumerate(batches(STEPS), start=1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
        torch_xla.sync()


def main():
    logging.basicConfig(level=logging.INFO, force=True)  # torch_xla has set a handler already
    torch.manual_seed(0)
    device = torch_xla.device()
    train(nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device), device)


if __name__ == "__main__":
    main()
