"""Trains with an optimizer of its own that ends each parameter's update with a barrier.

A step hands over one small graph for each of the eight parameters, when a single one would do.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 64
LAYERS = 3
STEPS = 40


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


class Lion:
    """Steps along the sign of a mean of the gradients, the recent ones counting most."""

    def __init__(self, parameters, lr):
        self.lr = lr
        self.means = {parameter: torch.zeros_like(parameter) for parameter in parameters}

    @torch.no_grad()
    def step(self):
        for parameter, mean in self.means.items():
            parameter.sub_(self.lr * torch.sign(0.9 * mean + 0.1 * parameter.grad))
            mean.mul_(0.99).add_(0.01 * parameter.grad)
            parameter.grad = None
            torch_xla.sync()


def train(model, device):
    optimizer = Lion(model.parameters(), lr=0.001)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = [nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.Tanh()) for _ in range(LAYERS)]
    loss = train(nn.Sequential(*layers, nn.Linear(FEATURES, 1)).to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
