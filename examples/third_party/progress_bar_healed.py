"""Fits a function, and shows the loss of every fiftieth step in a progress bar of tqdm."""

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
    for step, (inputs, targets) in enumerate(bar, start=1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        if step % 50 == 0:
            bar.set_postfix(loss=loss.item())


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train(nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device), device)


if __name__ == "__main__":
    main()
