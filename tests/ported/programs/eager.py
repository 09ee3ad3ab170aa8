"""Trains in eager mode, as a tutorial recommends for debugging."""

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

torch_xla.experimental.eager_mode(True)

STEPS = 250


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        inputs, labels = torch.randn(32, 64), torch.randint(10, (32,))
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
