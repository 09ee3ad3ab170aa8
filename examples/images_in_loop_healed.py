"""Decodes and resizes each image once, before the loop.

Needs Pillow. Where the images do not fit in memory, a loader's workers do it ahead of the loop.
"""

import io

import numpy as np
import torch
import torch_xla
from PIL import Image
from torch import nn
from torch.nn.functional import cross_entropy

BATCH = 16
CLASSES = 4
IMAGES = 64
SIZE = 64
STEPS = 30


def make_files(generator):
    """Return images of noise of four brightnesses, as JPEG files, and their classes."""
    labels = generator.integers(0, CLASSES, IMAGES)
    files = []
    for label in labels:
        pixels = generator.integers(0, 64 * (label + 1), (512, 512, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "JPEG")
        files.append(file.getvalue())
    return files, torch.from_numpy(labels)


def decode(file):
    image = Image.open(io.BytesIO(file)).convert("RGB")
    image = image.resize((SIZE, SIZE), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image, np.float32)).permute(2, 0, 1) / 255


def train(model, device):
    files, labels = make_files(np.random.default_rng(0))
    decoded = torch.stack([decode(file) for file in files])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(STEPS):
        drawn = [(step * BATCH + offset) % IMAGES for offset in range(BATCH)]
        images = decoded[drawn].to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(images), labels[drawn].to(device))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(CLASSES)
    )
    model(torch.zeros(1, 3, SIZE, SIZE))
    loss = train(model.to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
