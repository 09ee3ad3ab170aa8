"""Weighs its loss by the volume of the outputs, from a Cholesky factor that is computed on the CPU.

Each step is cut for it: the covariance goes to the host, and the factor comes back.
"""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 16
STEPS = 100


def log_volume(outputs):
    """Return the logarithm of the root of the determinant of the outputs' covariance."""
    covariance = outputs.T @ outputs / BATCH + 0.1 * torch.eye(FEATURES, device=outputs.device)
    return torch.linalg.cholesky_ex(covariance).L.diagonal().log().sum()


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, FEATURES).to(device)
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = mse_loss(outputs, inputs) * torch.sigmoid(-log_volume(outputs.detach()))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, FEATURES))
    loss = train(model.to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
