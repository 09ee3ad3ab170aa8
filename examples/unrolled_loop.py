"""Trains a recurrent network with a Python loop over 240 points in time.

Each turn of the loop is a part of its own of the graph, which takes seconds to compile, and the
more the longer the sequences are.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 128
FEATURES = 256
LENGTH = 240
STEPS = 10


class Recurrent(nn.Module):
    """A plain recurrent layer, and a linear one that reads its last state."""

    def __init__(self):
        super().__init__()
        self.feedback = nn.Parameter(torch.randn(FEATURES, FEATURES) / (3 * FEATURES**0.5))
        self.readout = nn.Linear(FEATURES, 1)

    def forward(self, sequences):
        state = torch.zeros(BATCH, FEATURES, device=sequences.device)
        for now in sequences:
            state = torch.tanh(state @ self.feedback + now)
        return self.readout(state)


def batches(steps):
    """Yield fresh sequences of numbers, time first, and the sum of each one's last three."""
    for _ in range(steps):
        sequences = torch.randn(LENGTH, BATCH, 1)
        yield sequences, sequences[-3:].sum(dim=0)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for sequences, targets in batches(STEPS):
        sequences, targets = sequences.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(sequences), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(Recurrent().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
