"""Trains a classifier and keeps the running loss on the device until the end.

The sum is part of the step's own program, so the host never waits in the loop: it prepares
the next step while the device works on this one.
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
    running_loss = torch.zeros(1).to(device)  # data, not a constant: the same graph in every step
    for inputs, labels in batches(STEPS):
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.detach()
        torch_xla.sync()
    return running_loss.item() / STEPS


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).to(device)
    print(f"mean loss {train(model, device):.9g}")


if __name__ == "__main__":
    main()
