"""Sums the loss below the barrier, which makes the sum a part of the next step's graph.

The first step's graph has no sum, the second one's begins with it, and in the third one's the sum
so far is an input: the whole step is compiled three times.
"""

import torch
import torch_xla
from torch import nn

BATCH = 32
FEATURES = 64
CLASSES = 10
EPOCHS = 3
STEPS = 12


def batches(steps):
    """Yield samples with labels."""
    for _ in range(steps):
        yield torch.randn(BATCH, FEATURES), torch.randint(0, CLASSES, (BATCH,))


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Linear(FEATURES, 128), nn.ReLU(), nn.Linear(128, CLASSES)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(EPOCHS):
        running = 0.0
        for inputs, labels in batches(STEPS):
            optimizer.zero_grad()
            logits = model(inputs.to(device))
            loss = nn.functional.cross_entropy(logits, labels.to(device))
            loss.backward()
            optimizer.step()
            torch_xla.sync()
            running += loss.detach()
        print(f"epoch {epoch}: mean loss {running.item() / STEPS:.6g}")


if __name__ == "__main__":
    main()
