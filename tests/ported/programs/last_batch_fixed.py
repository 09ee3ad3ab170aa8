"""A residual network; the data do not divide into batches, so the last one is smaller."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 4


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
        )  # fmt: skip

    def forward(self, x):
        return torch.relu(x + self.inner(x))


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(8, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = TensorDataset(torch.randn(200, 3, 12, 12), torch.randint(10, (200,)))
    loader = DataLoader(data, batch_size=32, shuffle=True, drop_last=True)
    for epoch in range(EPOCHS):
        total = torch.zeros(()).to(device)
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.detach()
            torch_xla.sync()
        print(f"epoch {epoch} loss {total.item() / len(loader):.4f}")


if __name__ == "__main__":
    main()
