"""Trains a classifier and counts the hits on the device, to fetch their number once.

The comparison is part of the step's own program, so the host never waits in the loop.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 256
SIDE = 8
STEPS = 30


def batches(steps):
    """Yield noisy images that are brighter on the left (class 0) or on the right (class 1)."""
    slope = torch.linspace(-0.5, 0.5, SIDE)
    for _ in range(steps):
        labels = torch.randint(2, (BATCH,))
        tilt = (2.0 * labels - 1.0).view(BATCH, 1, 1, 1) * slope
        yield torch.randn(BATCH, 1, SIDE, SIDE) + tilt, labels


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    correct = torch.zeros(1).to(device)  # data, not a constant: the same graph in every step
    for images, labels in batches(STEPS):
        images, labels = images.to(device), labels.to(device)
        optimizer.zero_grad()
        logits = model(images)
        loss = cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(dim=1) == labels).sum()
        torch_xla.sync()
    return loss, correct.item() / (STEPS * BATCH)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * (SIDE - 2) ** 2, 2)
    loss, accuracy = train(nn.Sequential(*layers).to(device), device)
    print(f"final loss {loss.item():.9g}, accuracy {accuracy:.9g}")


if __name__ == "__main__":
    main()
