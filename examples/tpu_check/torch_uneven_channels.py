"""Trains a small convolution net whose channels fill none of a TPU's tiles."""

import torch
import torch_xla
from torch import nn

BATCH = 16
SIZE = 16
CHANNELS = 72
CLASSES = 10
STEPS = 20


def build():
    layers = [nn.Conv2d(3, CHANNELS, 3, padding=1), nn.ReLU()]
    for _ in range(2):
        layers += [nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1), nn.ReLU()]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(CHANNELS, CLASSES)
    )


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = build().to(device, torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(STEPS):
        images = torch.randn(BATCH, 3, SIZE, SIZE).to(device, torch.bfloat16)
        classes = torch.randint(CLASSES, (BATCH,)).to(device)
        loss = nn.functional.cross_entropy(model(images).float(), classes)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch_xla.sync()
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
