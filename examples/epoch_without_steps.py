"""Tests a network on fewer samples than are in a batch: `drop_last` leaves the only batch out."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

BATCH = 64
FEATURES = 32
EPOCHS = 3
TRAINING, TEST = 1024, 40


def samples(count):
    """Numbers, and their sums."""
    inputs = torch.randn(count, FEATURES)
    return TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        mse_loss(model(inputs), targets).backward()
        optimizer.step()
        torch_xla.sync()


@torch.no_grad()
def test(model, loader, device):
    """The sum of all squared errors."""
    total = torch.zeros((), device=device)
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        total += mse_loss(model(inputs), targets, reduction="sum")
        torch_xla.sync()
    return total.item()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    training = DataLoader(samples(TRAINING), batch_size=BATCH, drop_last=True)
    held_out = DataLoader(samples(TEST), batch_size=BATCH, drop_last=True)
    for epoch in range(EPOCHS):
        train(model, training, device)
        print(f"epoch {epoch} error {test(model, held_out, device) / TEST:.9g}")


if __name__ == "__main__":
    main()
