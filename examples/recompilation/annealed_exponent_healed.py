"""Trains with a focal loss whose exponent is lowered a little in every step.

The exponent is a tensor on the device, data like the samples, so its value is not in the graph.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import log_softmax

BATCH = 128
FEATURES = 64
CLASSES = 4
STEPS = 24


def batches(steps):
    """Yield fresh samples scattered around the centre of their class."""
    centres = torch.randn(CLASSES, FEATURES)
    for _ in range(steps):
        labels = torch.randint(CLASSES, (BATCH,))
        yield centres[labels] + 2 * torch.randn(BATCH, FEATURES), labels


def focal_loss(logits, labels, gamma):
    """Return the cross entropy, in which samples that are sure already count less."""
    logarithms = log_softmax(logits, dim=1).gather(1, labels.unsqueeze(1))
    unsure = 1 - logarithms.exp()
    return -(unsure**gamma * logarithms).mean()


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (inputs, labels) in enumerate(batches(STEPS)):
        inputs, labels = inputs.to(device), labels.to(device)
        gamma = torch.tensor(4.5 - 3 * step / STEPS).to(device)
        optimizer.zero_grad()
        loss = focal_loss(model(inputs), labels, gamma)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    loss = train(model.to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
