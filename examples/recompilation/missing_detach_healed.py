"""Trains on one long series, with a state that carries numbers along and no history.

The state is detached before each step, so a backward pass ends where its step began, and all
steps have one graph.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 16
STATE = 32
KEPT = 0.8
STEPS = 16


class LeakyIntegrator(nn.Module):
    """Adds what it sees to a state that fades, and reads the result off it."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(FEATURES, STATE)
        self.readout = nn.Linear(STATE, 1)

    def forward(self, inputs, state):
        state = KEPT * state + torch.tanh(self.encoder(inputs))
        return self.readout(state), state


def series(steps):
    """Yield what is seen at each time, and a fading sum of it."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    targets = torch.zeros(BATCH, 1)
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        targets = KEPT * targets + torch.tanh(inputs @ weights)
        yield inputs, targets


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    state = torch.zeros(BATCH, STATE).to(device)
    for inputs, targets in series(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        predictions, state = model(inputs, state.detach())
        loss = mse_loss(predictions, targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(LeakyIntegrator().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
