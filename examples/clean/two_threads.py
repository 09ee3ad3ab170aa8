"""Trains two independent replicas, one for each of two CPU devices.

torch_xla.launch starts one process with a thread for each device; CPU_NUM_DEVICES, set here
unless the environment has it, says how many there are.
"""

import os

os.environ.setdefault("CPU_NUM_DEVICES", "2")

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 40


def batches(steps, seed):
    """Yield fresh samples with their targets; each thread has a generator of its own."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.linspace(-0.5, 0.5, FEATURES).unsqueeze(1)
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES, generator=generator)
        yield inputs, torch.tanh(inputs @ weights)


def make_model():
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1))


def train(index, weights):
    device = torch_xla.device()
    model = make_model().to(device)
    model.load_state_dict(weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for inputs, targets in batches(STEPS, seed=index):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(f"replica {index} final loss {loss.item():.9g}")


def main():
    torch.manual_seed(0)
    torch_xla.launch(train, args=(make_model().state_dict(),))


if __name__ == "__main__":
    main()
