"""Trains a wide classifier and counts how sure it is with operators that torch_xla lowers.

The counting is part of the step's own graph, so the host does not wait; but the device is no faster
for it.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 512
FEATURES = 128
WIDTH = 1536
CLASSES = 10
BINS = 20
STEPS = 24


def make_model():
    """Return three layers of large matrix products between a small first and a small last one."""
    hidden = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(3)]
    return nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.ReLU(), *hidden, nn.Linear(WIDTH, CLASSES))


def batches(steps):
    """Yield fresh samples with the class that a fixed linear rule gives them."""
    rule = torch.randn(FEATURES, CLASSES)
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, (inputs @ rule).argmax(dim=1)


def histogram(values):
    """Return how many of the values, from 0 to 1, are in each of BINS equal parts."""
    part = (values * BINS).long().clamp(max=BINS - 1)
    return (part.unsqueeze(1) == torch.arange(BINS, device=values.device)).sum(dim=0)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    counts = torch.zeros(BINS).to(device)
    for inputs, labels in batches(STEPS):
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        logits = model(inputs)
        cross_entropy(logits, labels).backward()
        optimizer.step()
        counts += histogram(logits.detach().softmax(dim=1).amax(dim=1))
        torch_xla.sync()
    return counts


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    counts = train(make_model().to(device), device)
    print("sure of", " ".join(f"{count:.0f}" for count in counts.tolist()))


if __name__ == "__main__":
    main()
