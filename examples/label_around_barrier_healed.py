"""Labels the update of each step for a profile; the label ends before the barrier.

Its time is what recording the update takes. `xp.Trace` also names the operations on the device.
"""

import torch
import torch_xla
import torch_xla.debug.profiler as xp
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 128
FEATURES = 64
STEPS = 40


def batches(steps):
    """Yield fresh samples with their targets."""
    weights = torch.randn(FEATURES, 1) / FEATURES**0.5
    for _ in range(steps):
        inputs = torch.randn(BATCH, FEATURES)
        yield inputs, torch.tanh(inputs @ weights)


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for inputs, targets in batches(STEPS):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()
        with xp.Trace("update"):
            optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 256), nn.Tanh(), nn.Linear(256, 1)).to(device)
    loss = train(model, device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
