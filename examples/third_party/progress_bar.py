"""Fits a function, and shows the loss of every step in a progress bar of tqdm.

The bar redraws itself ten times a second at most, but turns the tensor into text at every call.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss
from tqdm import tqdm

BATCH = 128
FEATURES = 32
STEPS = 100


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    bar = tqdm(batches(STEPS), total=STEPS)
    for inputs, targets in bar:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        bar.set_postfix(loss=loss)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train(nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device), device)


if __name__ == "__main__":
    main()
