"""Trains on signals that are shifted around by another random distance in every step.

The places that samples move to are a tensor on the device, data like the signals, so the distance
is not in the graph.
"""

import random

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 64
LENGTH = 128
CLASSES = 4
STEPS = 20


def batches(steps):
    """Yield noisy pulses and the labels of their width."""
    for _ in range(steps):
        labels = torch.randint(CLASSES, (BATCH,))
        pulses = (torch.arange(LENGTH) < 8 * (labels + 1).unsqueeze(1)).float()
        yield pulses + 0.2 * torch.randn(BATCH, LENGTH), labels


def shift(signals):
    """Return the signals moved by a random distance; what falls off returns at the other end."""
    distance = random.randrange(LENGTH)
    places = (torch.arange(LENGTH) - distance) % LENGTH
    return signals.index_select(1, places.to(signals.device))


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for signals, labels in batches(STEPS):
        signals, labels = signals.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(shift(signals).unsqueeze(1)), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    random.seed(0)
    device = torch_xla.device()
    model = nn.Sequential(
        nn.Conv1d(1, 8, kernel_size=9, stride=4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(8 * 30, CLASSES),
    )
    loss = train(model.to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
