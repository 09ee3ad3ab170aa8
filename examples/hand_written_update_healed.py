"""Trains a regression with its own momentum update, without torch.optim, and with a barrier.

Each step is one graph, the same every time, and its loss stays on the device until the end.
"""

import torch
import torch_xla
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
RATE = 0.1
MOMENTUM = 0.9
STEPS = 12


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


@torch.no_grad()
def update(weights, velocity):
    """Move the weights against their gradient, and on as they moved before."""
    velocity.mul_(MOMENTUM).add_(weights.grad)
    weights.sub_(RATE * velocity)


def train(device):
    weights = torch.zeros(FEATURES, 1).to(device).requires_grad_()
    velocity = torch.zeros(FEATURES, 1).to(device)
    history = []
    for inputs, targets in batches(STEPS):
        loss = mse_loss(torch.tanh(inputs.to(device) @ weights), targets.to(device))
        weights.grad = None
        loss.backward()
        update(weights, velocity)
        history.append(loss.detach())
        torch_xla.sync()
    return torch.stack(history).tolist()


def main():
    torch.manual_seed(0)
    history = train(torch_xla.device())
    print(f"first loss {history[0]:.6g}, last loss {history[-1]:.6g}")


if __name__ == "__main__":
    main()
