"""Trains a detector whose loss compares each box with its target by itself, in a Python loop.

The loss is some twenty lines of small operations, repeated for each of 24 boxes. No line of them
stands out, but together they keep the device waiting.
"""

import torch
import torch_xla
from torch import nn

BATCH = 16
FEATURES = 32
BOXES = 24
STEPS = 60


def box_loss(box, target):
    """Return one minus the overlap of boxes (x, y, width, height) with their targets."""
    width = box[:, 2].abs() + 0.1
    height = box[:, 3].abs() + 0.1
    left = torch.maximum(box[:, 0] - width / 2, target[:, 0] - target[:, 2] / 2)
    right = torch.minimum(box[:, 0] + width / 2, target[:, 0] + target[:, 2] / 2)
    top = torch.maximum(box[:, 1] - height / 2, target[:, 1] - target[:, 3] / 2)
    bottom = torch.minimum(box[:, 1] + height / 2, target[:, 1] + target[:, 3] / 2)
    shared_width = (right - left).clamp(min=0)
    shared_height = (bottom - top).clamp(min=0)
    shared = shared_width * shared_height
    whole = width * height + target[:, 2] * target[:, 3] - shared
    return (1 - shared / whole).mean()


def detection_loss(boxes, targets):
    losses = [box_loss(boxes[:, i], targets[:, i]) for i in range(BOXES)]
    return torch.stack(losses).mean()


def batches(steps):
    """Yield fresh numbers, and boxes that depend on them."""
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        places = inputs[:, :BOXES].unsqueeze(2).expand(-1, -1, 2)
        yield inputs, torch.cat([places, torch.ones(BATCH, BOXES, 2)], dim=2)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = detection_loss(model(inputs).view(BATCH, BOXES, 4), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(nn.Linear(FEATURES, BOXES * 4).to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
