"""Fits a curve and prints the loss every ten steps, from a step closure.

The closure runs after the barrier, when the loss is computed anyway, and in nine steps of ten
the host waits for nothing.
"""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 256
STEPS = 40


def batches(steps):
    """Yield fresh points on a sine."""
    for _ in range(steps):
        inputs = 4 * torch.rand(BATCH, 1) - 2
        yield inputs, torch.sin(2 * inputs)


def report(step, loss):
    print(f"step {step} loss {loss.item():.9g}")


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for step, (inputs, targets) in enumerate(batches(STEPS), start=1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            xm.add_step_closure(report, args=(step, loss))
        torch_xla.sync()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    train(nn.Sequential(nn.Linear(1, 128), nn.Tanh(), nn.Linear(128, 1)).to(device), device)


if __name__ == "__main__":
    main()
