"""A classifier of digits: a barrier a batch, sums on the device, a read an epoch."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 6


def digits(count):
    labels = torch.randint(10, (count,))
    return TensorDataset(torch.randn(count, 1, 14, 14) + labels.view(-1, 1, 1, 1) / 5, labels)


def train(model, device, loader, optimizer):
    total = torch.zeros((), device=device)
    for images, labels in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach()
        torch_xla.sync()
    return total.item() / len(loader)


def test(model, device, loader):
    correct = torch.zeros((), dtype=torch.int64, device=device)
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images.to(device)).argmax(dim=1) == labels.to(device)).sum()
            torch_xla.sync()
    return correct.item() / len(loader.dataset)


def main():
    torch.manual_seed(1)
    device = torch_xla.device()
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(288, 10)
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    train_loader = DataLoader(digits(20 * 64), batch_size=64, shuffle=True, drop_last=True)
    test_loader = DataLoader(digits(8 * 64), batch_size=64, drop_last=True)
    for epoch in range(EPOCHS):
        loss = train(model, device, train_loader, optimizer)
        print(f"epoch {epoch} loss {loss:.4f} accuracy {test(model, device, test_loader):.3f}")


if __name__ == "__main__":
    main()
