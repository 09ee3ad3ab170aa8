"""Shuffles the whole data set at every step to draw one batch from it.

The host is busy with NumPy for most of the step, and the device waits for the next one.
"""

import numpy as np
import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 128
FEATURES = 2
SAMPLES = 5_000_000
STEPS = 30


def make_samples(generator):
    """Return inputs and targets of the whole data set."""
    inputs = generator.standard_normal((SAMPLES, FEATURES), dtype=np.float32)
    return inputs, np.tanh(inputs.sum(axis=1, keepdims=True))


def train(model, device):
    generator = np.random.default_rng(0)
    inputs, targets = make_samples(generator)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        order = generator.permutation(SAMPLES)
        drawn = order[:BATCH]
        optimizer.zero_grad()
        outputs = model(torch.from_numpy(inputs[drawn]).to(device))
        loss = mse_loss(outputs, torch.from_numpy(targets[drawn]).to(device))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
