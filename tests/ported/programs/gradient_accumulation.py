"""Gradients of four small batches make an update; the progress bar shows each loss."""

import sys

import torch
import torch_xla
from torch import nn

ACCUMULATE = 4
UPDATES = 5


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    optimizer.zero_grad()
    for i in range(ACCUMULATE * UPDATES):
        inputs, labels = torch.randn(16, 32).to(device), torch.randint(8, (16,)).to(device)
        loss = criterion(model(inputs), labels) / ACCUMULATE
        loss.backward()
        if (i + 1) % ACCUMULATE == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        sys.stdout.write(f"\r{i + 1} loss {loss.item() * ACCUMULATE:.4f}")
    print()


if __name__ == "__main__":
    main()
