"""Trains a classifier and moves its predictions to the host at every step to count the hits.

The step is over by then, but the host waits for it before it can begin the next one.
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
    correct = 0
    for images, labels in batches(STEPS):
        images, targets = images.to(device), labels.to(device)
        optimizer.zero_grad()
        logits = model(images)
        loss = cross_entropy(logits, targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        predictions = logits.detach().cpu().numpy().argmax(axis=1)
        correct += (predictions == labels.numpy()).sum()
    return loss, correct / (STEPS * BATCH)


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * (SIDE - 2) ** 2, 2)
    loss, accuracy = train(nn.Sequential(*layers).to(device), device)
    print(f"final loss {loss.item():.9g}, accuracy {accuracy:.9g}")


if __name__ == "__main__":
    main()
