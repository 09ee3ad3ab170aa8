"""Trains with a barrier at the end of each step and reports the mean loss every ten steps.

`torch_xla.sync()` computes the weights in each step, so the graph never holds more than one
step; the step closure reads the sum after the barrier, when it is there anyway.
"""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 30


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def report(step, total_loss):
    print(f"step {step} mean loss {total_loss.item() / step:.9g}")


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    total_loss = torch.zeros(1).to(device)  # data, not a constant: the same graph in every step
    for step, (inputs, targets) in enumerate(batches(STEPS), start=1):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total_loss += loss.detach()
        if step % 10 == 0:
            xm.add_step_closure(report, args=(step, total_loss))
        torch_xla.sync()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    train(model, device)


if __name__ == "__main__":
    main()
