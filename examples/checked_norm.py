"""Fits a function with clipped gradients, and has each norm checked: `error_if_nonfinite=True`.

To know whether to raise an error, `clip_grad_norm_` asks a tensor in every step: the host waits.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_

BATCH = 128
FEATURES = 32
STEPS = 40


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    print(f"final loss {train(model, device).item():.9g}")


if __name__ == "__main__":
    main()
