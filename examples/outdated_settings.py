"""Trains with settings from the scripts of an earlier release.

XLA_USE_BF16, which makes every float a bfloat16, is deprecated, and nothing reads XRT_DEVICE_MAP
any more.
"""

import os

os.environ["XLA_USE_BF16"] = "1"
os.environ["XRT_DEVICE_MAP"] = "CPU:0;/job:localservice/replica:0/task:0/device:XLA_CPU:0"

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
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
