"""Trains a classifier and counts its confusions on the host, from the predictions of every step.

The metric is the program's own, and wants the predictions where it counts: each update copies them,
and the host waits for the step to end before it begins the next one.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 256
FEATURES = 128
CLASSES = 10
STEPS = 40


class Confusion:
    """Counts which class was taken for which."""

    def __init__(self):
        self.counts = torch.zeros(CLASSES, CLASSES, dtype=torch.long)

    def update(self, predictions, labels):
        self.counts.index_put_((labels, predictions), torch.tensor(1), accumulate=True)

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
    metric = Confusion()
    for inputs, labels in batches(STEPS):
        inputs, targets = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        logits = model(inputs)
        loss = cross_entropy(logits, targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        metric.update(logits.detach().argmax(dim=1).cpu(), labels)
    return metric.accuracy()


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).to(device)
    print(f"accuracy {train(model, device):.9g}")


if __name__ == "__main__":
    main()
