"""Trains a classifier and reads the loss with `.item()` at every step.

The read comes before the barrier: it runs a program for the loss alone, the host waits for it,
and the step's own program then computes the forward pass a second time.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 256
FEATURES = 128
CLASSES = 10
STEPS = 40


def batches(steps):
    """Yield fresh samples with the class that a fixed linear rule gives them."""
    rule = torch.randn(FEATURES, CLASSES)
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, (inputs @ rule).argmax(dim=1)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    running_loss = 0.0
    for inputs, labels in batches(STEPS):
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        torch_xla.sync()
    return running_loss / STEPS


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).to(device)
    print(f"mean loss {train(model, device):.9g}")


if __name__ == "__main__":
    main()
