"""Trains a small network in float32."""

import torch
import torch_xla
from torch import nn

BATCH = 512
WIDTH = 1024
LAYERS = 3
STEPS = 20


def loss_of(model, inputs):
    return nn.functional.mse_loss(model(inputs), inputs.abs())


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        inputs = torch.randn(BATCH, WIDTH).to(device)
        loss = loss_of(model, inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch_xla.sync()
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
