"""Trains with its model in bfloat16, as its code says, and without settings of earlier releases."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 128
FEATURES = 64
CLASSES = 4
STEPS = 40


def batches(steps):
    """Yield fresh samples scattered around the centre of their class."""
    centres = torch.randn(CLASSES, FEATURES)
    for _ in range(steps):
        labels = torch.randint(CLASSES, (BATCH,))
        yield centres[labels] + 2 * torch.randn(BATCH, FEATURES), labels


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, labels in batches(STEPS):
        inputs, labels = inputs.to(device, torch.bfloat16), labels.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    model = model.to(device, torch.bfloat16)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
