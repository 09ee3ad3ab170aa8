"""A training loop of small steps with about 170 events of the timeline each."""

import sys

import torch
import torch_xla
from torch import nn


def main(steps: int) -> None:
    """Train three small layers for so many steps."""
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = (nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs = torch.randn(16, 32).to(device)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(inputs) ** 2).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()


if __name__ == "__main__":
    main(int(sys.argv[1]))
