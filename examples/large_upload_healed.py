"""Sends images to the device ahead, as the bytes that they are, and makes numbers of them there.

That is an eighth of what float64 takes. The loader's thread sends them while the device works, and
the division is part of the step's own graph.
"""

import numpy as np
import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy
from torch_xla.distributed.parallel_loader import MpDeviceLoader

BATCH = 64
SIDE = 160
SAMPLES = 128
STEPS = 30


def make_images(generator):
    """Return images that are brighter above (class 0) or below (class 1), as bytes, and those."""
    labels = generator.integers(2, size=SAMPLES)
    slope = np.linspace(-60, 60, SIDE).reshape(1, SIDE, 1)
    tilt = (1 - 2 * labels).reshape(-1, 1, 1, 1) * slope
    pixels = 128 + generator.integers(-60, 60, size=(SAMPLES, 3, SIDE, SIDE)) - tilt
    return pixels.astype(np.uint8), labels


def batches(steps):
    """Yield the same images again and again, in two halves."""
    images, labels = (torch.from_numpy(array) for array in make_images(np.random.default_rng(0)))
    for step in range(steps):
        half = slice(0, BATCH) if step % 2 else slice(BATCH, SAMPLES)
        yield images[half], labels[half]


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for images, labels in MpDeviceLoader(batches(STEPS), device):
        optimizer.zero_grad()
        loss = cross_entropy(model(images.float() / 255), labels)
        loss.backward()
        optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = nn.Conv2d(3, 4, 8, stride=8), nn.ReLU(), nn.Flatten(), nn.Linear(SIDE**2 // 16, 2)
    loss = train(nn.Sequential(*layers).to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
