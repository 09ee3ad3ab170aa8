"""Twin networks that tell whether two images are of a kind; logs now and then, and tests."""

import torch
import torch_xla
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SiameseNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(48, 1), nn.Sigmoid())

    def forward(self, first, second):
        return self.head(torch.cat((self.tower(first), self.tower(second)), 1)).squeeze(1)


def pairs(count):
    first = torch.randn(count, 1, 8, 8)
    same = torch.randint(2, (count,)).float()
    second = same.view(-1, 1, 1, 1) * first + 0.1 * torch.randn(count, 1, 8, 8)
    return TensorDataset(first, second, same)


def train(model, device, loader, optimizer, epoch):
    model.train()
    criterion = nn.BCELoss()
    for index, (first, second, targets) in enumerate(loader):
        first, second, targets = first.to(device), second.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = criterion(model(first, second), targets)
        loss.backward()
        optimizer.step()
        if index % 3 == 0:
            print(f"epoch {epoch} batch {index} loss {loss.item():.4f}")


def test(model, device, loader):
    model.eval()
    total, correct = 0.0, 0
    with torch.no_grad():
        for first, second, targets in loader:
            first, second, targets = first.to(device), second.to(device), targets.to(device)
            outputs = model(first, second)
            total += nn.functional.binary_cross_entropy(outputs, targets, reduction="sum").item()
            correct += ((outputs > 0.5).float() == targets).sum().item()
    print(f"test: loss {total / len(loader.dataset):.4f}, {correct} of {len(loader.dataset)}")


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = SiameseNetwork().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train_loader = DataLoader(pairs(6 * 32), batch_size=32)
    test_loader = DataLoader(pairs(4 * 32), batch_size=32)
    train(model, device, train_loader, optimizer, 1)
    test(model, device, test_loader)


if __name__ == "__main__":
    main()
