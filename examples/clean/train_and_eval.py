"""Trains and evaluates in turn with two graphs, and reads the accuracy once an epoch."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 128
FEATURES = 64
CLASSES = 4
EPOCHS = 5


def batches(steps, centres):
    """Yield fresh samples scattered around the centre of their class."""
    for _ in range(steps):
        labels = torch.randint(CLASSES, (BATCH,))
        yield centres[labels] + 4 * torch.randn(BATCH, FEATURES), labels


def train(model, optimizer, loader, device):
    model.train()
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    hits = torch.zeros(1).to(device)  # data, not a constant: the same graph in every step
    seen = 0
    for inputs, labels in loader:
        inputs, labels = inputs.to(device), labels.to(device)
        hits += (model(inputs).argmax(dim=1) == labels).sum()
        seen += len(labels)
        torch_xla.sync()
    return hits.item() / seen


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    centres = torch.randn(CLASSES, FEATURES)
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(EPOCHS):
        train(model, optimizer, batches(10, centres), device)
        accuracy = evaluate(model, batches(5, centres), device)
    print(f"final accuracy {accuracy:.9g}")


if __name__ == "__main__":
    main()
