"""Trains on the rows of a table and sorts their numbers into bins, which torch_xla does on the CPU.

For `torch.bucketize` the rows, just sent to the device, come back to the host in every step, and
the bins go to the device.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 256
COLUMNS = 16
BINS = 32
STEPS = 200


class Regression(nn.Module):
    """Adds up what each column's bin contributes."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(COLUMNS * BINS, 32)
        self.readout = nn.Linear(32, 1)
        self.register_buffer("first", torch.arange(COLUMNS) * BINS)

    def forward(self, bins):
        return self.readout(torch.tanh(self.embedding(self.first + bins).sum(dim=1)))


def batches(steps):
    """Yield fresh rows of a table with their targets."""
    for _ in range(steps):
        rows = torch.randn(BATCH, COLUMNS)
        yield rows, torch.sin(3 * rows[:, :4]).sum(dim=1, keepdim=True)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    edges = torch.linspace(-2, 2, BINS - 1).to(device)
    for rows, targets in batches(STEPS):
        rows, targets = rows.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(torch.bucketize(rows, edges)), targets)
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    loss = train(Regression().to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
