"""Trains a survival model with `torch.logcumsumexp`, which torch_xla runs on the CPU.

The loss of Cox's model takes it in the forward pass, and twice again in the backward pass. Each
time the graph is cut, the risks go to the host, PyTorch computes there and the sums go back.
"""

import torch
import torch_xla
from torch import nn

BATCH = 128
FEATURES = 64
STEPS = 200


def batches(steps):
    """Yield fresh patients, who are the sooner ill again the higher a fixed function of theirs."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        patients = torch.randn(BATCH, FEATURES)
        times = torch.empty(BATCH).exponential_() * torch.exp(-2 * patients @ weights).squeeze(1)
        yield patients[times.argsort(descending=True)]


def cox_loss(risks):
    """Return how unlikely it is that they fall ill in this order, the last one first."""
    return (risks.logcumsumexp(dim=0) - risks).mean()


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for patients in batches(STEPS):
        patients = patients.to(device)
        optimizer.zero_grad()
        loss = cox_loss(model(patients).squeeze(1))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.Tanh(), nn.Linear(128, 1)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
