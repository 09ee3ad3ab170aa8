"""Compiles only while it warms up: Adam has no moments in the first step and has them from then on.

That makes a second graph for the second step, and none after it.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 128
FEATURES = 32
STEPS = 40


def batches(steps):
    """Yield fresh samples, which an autoencoder is to rebuild from half as many numbers."""
    basis = torch.randn(FEATURES // 4, FEATURES) / 2
    for _ in range(steps):
        yield torch.randn(BATCH, FEATURES // 4) @ basis


def train(model, device):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for samples in batches(STEPS):
        samples = samples.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(samples), samples)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    narrow = FEATURES // 2
    model = nn.Sequential(nn.Linear(FEATURES, narrow), nn.ReLU(), nn.Linear(narrow, FEATURES))
    loss = train(model.to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
