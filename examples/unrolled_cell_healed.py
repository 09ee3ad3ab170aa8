"""Trains a gated recurrent cell with `scan`, which keeps the loop over time a loop in the graph.

The graph holds one turn. `is_fn_pure` lets `scan` keep what it has traced of it.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss
from torch_xla.experimental.scan import scan

BATCH = 128
FEATURES = 256
LENGTH = 40
STEPS = 20


def turn(carry, now):
    """Return the state after one more point in time; copies, since `scan` allows no aliases."""
    state, gate, candidate = carry
    kept = torch.sigmoid(state @ gate + now)
    state = kept * state + (1 - kept) * torch.tanh(state @ candidate + now)
    return (state, gate.clone(), candidate.clone()), state.clone()


class Gated(nn.Module):
    """A minimal gated cell, and a linear layer that reads its last state."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.randn(FEATURES, FEATURES) / FEATURES**0.5)
        self.candidate = nn.Parameter(torch.randn(FEATURES, FEATURES) / FEATURES**0.5)
        self.readout = nn.Linear(FEATURES, 1)

    def forward(self, sequences):
        start = torch.zeros(BATCH, FEATURES, device=sequences.device)
        carry = (start, self.gate, self.candidate)
        (state, *_), _ = scan(turn, carry, sequences, is_fn_pure=True)
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
    loss = train(Gated().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
