"""Trains an attention layer whose bias, the same at every step, is made row by row in Python.

The device has little to do, and waits while Python records 1,600 small operations again.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 4
LENGTH = 400
FEATURES = 8
SLOPE = 0.1
STEPS = 40


def distance_bias(device):
    """Return how much less each position heeds each other one, the farther that is away."""
    positions = torch.arange(LENGTH).to(device)
    rows = []
    for position in range(LENGTH):
        rows.append(-SLOPE * (positions - position).abs().float())
    return torch.stack(rows)


class Attention(nn.Module):
    """One head of self-attention, and the mean of what it yields."""

    def __init__(self):
        super().__init__()
        self.projection = nn.Linear(FEATURES, 3 * FEATURES)
        self.readout = nn.Linear(FEATURES, 1)

    def forward(self, inputs, bias):
        queries, keys, values = self.projection(inputs).chunk(3, dim=-1)
        scores = queries @ keys.transpose(1, 2) / FEATURES**0.5 + bias
        return self.readout(scores.softmax(dim=-1) @ values).mean(dim=1)


def batches(steps):
    """Yield fresh sequences, and how large their features are on average."""
    for _ in range(steps):
        inputs = torch.randn(BATCH, LENGTH, FEATURES) + torch.randn(BATCH, 1, 1)
        yield inputs, inputs.mean(dim=(1, 2)).unsqueeze(1)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs, distance_bias(device)), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(Attention().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
