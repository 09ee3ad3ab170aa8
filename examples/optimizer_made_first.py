"""Makes the optimizer before the model is moved to the device: it updates what nothing uses."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import mse_loss

BATCH = 64
FEATURES = 32
STEPS = 20


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model.to(device)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, FEATURES).to(device)
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    print(f"loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
