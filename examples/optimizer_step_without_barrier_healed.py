"""Trains with xm.optimizer_step, and has it end each step with a barrier.

The graph of a step is compiled once or twice, and launched again in each of the others.
"""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader, TensorDataset

BATCH = 32
STEPS = 20


def make_loader():
    inputs = torch.randn(STEPS * BATCH, 16)
    data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    return DataLoader(data, batch_size=BATCH, shuffle=True)


def train(model, loader, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        xm.optimizer_step(optimizer, barrier=True)
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)
    loss = train(nn.Sequential(*layers).to(device), make_loader(), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
