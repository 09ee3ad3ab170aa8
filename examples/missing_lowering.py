"""Trains with the Huber loss, which torch_xla runs on the CPU for want of a lowering.

Twice in each step (aten::huber_loss and its backward) the graph is cut, tensors go to the host,
PyTorch computes there and the result goes back.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import huber_loss

BATCH = 128
FEATURES = 64
STEPS = 200


def batches(steps):
    """Yield fresh samples with targets of which some are far off."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        outliers = 20 * (torch.rand(BATCH, 1) < 0.02)
        yield inputs, inputs @ weights + outliers


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = huber_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, 1)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
