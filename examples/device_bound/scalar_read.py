"""Trains a wide classifier and reads the loss with `.item()` at every step, after the barrier.

The loss comes with the step's other results, so no second program runs. The device idles only
while the host prepares the next step, for a few milliseconds of more than a hundred.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 512
FEATURES = 128
WIDTH = 1536
CLASSES = 10
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


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    running_loss = 0.0
    for inputs, labels in batches(STEPS):
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        running_loss += loss.item()
    return running_loss / STEPS


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    print(f"mean loss {train(make_model().to(device), device):.9g}")


if __name__ == "__main__":
    main()
