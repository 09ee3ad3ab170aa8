"""Keeps the best loss, and stops when it has not got better for a while."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

STEPS = 500
PATIENCE = 1000


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    best, waited = torch.tensor(float("inf")).to(device), torch.tensor(0).to(device)
    for step in range(STEPS):
        inputs = torch.randn(256, 64)
        targets = inputs.square().mean(dim=1, keepdim=True)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs.to(device)), targets.to(device))
        loss.backward()
        optimizer.step()
        better = loss.detach() < best
        best = torch.where(better, loss.detach(), best)
        waited = torch.where(better, 0, waited + 1)
        torch_xla.sync()
        if step % 25 == 0 and waited > PATIENCE:
            break
    print(f"best loss {best.item():.4f}")


if __name__ == "__main__":
    main()
