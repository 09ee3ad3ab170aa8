"""A small convolutional network for digits, with a test pass after each epoch."""

import torch
import torch_xla
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 2
LOG_INTERVAL = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(144, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return F.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)


def digits(count):
    labels = torch.randint(10, (count,))
    images = torch.randn(count, 1, 14, 14) + labels.view(-1, 1, 1, 1) / 5
    return TensorDataset(images, labels)


def train(model, device, loader, optimizer, epoch):
    model.train()
    for index, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if index % LOG_INTERVAL == 0:
            print(f"epoch {epoch} [{index}/{len(loader)}] loss {loss.item():.4f}")


def test(model, device, loader):
    model.eval()
    total, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            total += F.nll_loss(output, target, reduction="sum").item()
            correct += (output.argmax(dim=1) == target).sum().item()
    count = len(loader.dataset)
    print(f"test: loss {total / count:.4f}, accuracy {correct}/{count}")


def main():
    torch.manual_seed(1)
    device = torch_xla.device()
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    train_loader = DataLoader(digits(4 * 32), batch_size=32, shuffle=True)
    test_loader = DataLoader(digits(3 * 64), batch_size=64)
    for epoch in range(EPOCHS):
        train(model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)


if __name__ == "__main__":
    main()
