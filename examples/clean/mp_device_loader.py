"""Trains from an MpDeviceLoader, which sends batches ahead and sets the barrier after each step.

`drop_last` leaves no smaller last batch, which would compile a second graph.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset
from torch_xla.distributed.parallel_loader import MpDeviceLoader

FEATURES = 64
CLASSES = 4


def make_loader(samples):
    """Return a loader of samples scattered around the centre of their class."""
    labels = torch.randint(CLASSES, (samples,))
    inputs = torch.randn(CLASSES, FEATURES)[labels] + 2 * torch.randn(samples, FEATURES)
    return DataLoader(TensorDataset(inputs, labels), batch_size=128, shuffle=True, drop_last=True)


def train(model, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(epochs):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES)).to(device)
    loader = MpDeviceLoader(make_loader(samples=1700), device)
    loss = train(model, loader, epochs=3)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
