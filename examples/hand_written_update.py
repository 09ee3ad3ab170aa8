"""Trains a regression with its own momentum update, without torch.optim, and without a barrier.

The loss is read in every step, which runs what the loss needs and nothing else: the velocity of
the weights stays unevaluated, and its graph grows from read to read.
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


def updated(weights, velocity, loss):
    """The weights and their velocity after a step that lowers the loss."""
    (gradient,) = torch.autograd.grad(loss, weights)
    velocity = MOMENTUM * velocity + gradient
    return (weights.detach() - RATE * velocity).requires_grad_(), velocity


def train(device):
    weights = torch.zeros(FEATURES, 1).to(device).requires_grad_()
    velocity = torch.zeros(FEATURES, 1).to(device)
    history = []
    for inputs, targets in batches(STEPS):
        loss = mse_loss(torch.tanh(inputs.to(device) @ weights), targets.to(device))
        weights, velocity = updated(weights, velocity, loss)
        history.append(float(loss.detach()))
    return history


def main():
    torch.manual_seed(0)
    history = train(torch_xla.device())
    print(f"first loss {history[0]:.6g}, last loss {history[-1]:.6g}")


if __name__ == "__main__":
    main()
