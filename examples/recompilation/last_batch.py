"""Trains for several epochs on a number of samples that the batch size does not divide.

The last batch of every epoch is smaller than the others, and the training step is compiled
once more for its shape.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

SAMPLES = 300
BATCH = 32
FEATURES = 64
CLASSES = 4
EPOCHS = 3


def make_samples():
    """Return samples scattered around the centre of their class."""
    centres = torch.randn(CLASSES, FEATURES)
    labels = torch.randint(CLASSES, (SAMPLES,))
    return TensorDataset(centres[labels] + 2 * torch.randn(SAMPLES, FEATURES), labels)


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(EPOCHS):
        for inputs, labels in loader:
            inputs, labels = inputs.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
            torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loader = DataLoader(make_samples(), batch_size=BATCH, shuffle=True)
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    loss = train(model.to(device), loader, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
