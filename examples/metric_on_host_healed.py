"""Trains a classifier and counts its confusions on the device, where the predictions are.

The matrix is part of the step's graph, and its accuracy is read once.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 256
FEATURES = 128
CLASSES = 10
STEPS = 40


def one_hot(labels):
    """A row for each label, with a one in its column; of a fixed shape."""
    return (labels.unsqueeze(1) == torch.arange(CLASSES, device=labels.device)).float()


class Confusion:
    """Counts which class was taken for which."""

    def __init__(self, device):
        self.counts = torch.zeros(CLASSES, CLASSES, device=device)

    def update(self, predictions, labels):
        self.counts += one_hot(labels).T @ one_hot(predictions)

    def accuracy(self):
        return (self.counts.trace() / self.counts.sum()).item()


def batches(steps):
    """Yield fresh samples with the class that a fixed linear rule gives them."""
    rule = torch.randn(FEATURES, CLASSES)
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, (inputs @ rule).argmax(dim=1)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    metric = Confusion(device)
    for inputs, labels in batches(STEPS):
        inputs, targets = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        logits = model(inputs)
        loss = cross_entropy(logits, targets)
        loss.backward()
        optimizer.step()
        metric.update(logits.detach().argmax(dim=1), targets)
        torch_xla.sync()
    return metric.accuracy()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).to(device)
    print(f"accuracy {train(model, device):.9g}")


if __name__ == "__main__":
    main()
