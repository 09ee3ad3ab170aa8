"""torch.compile; the data set is no multiple of the batch."""

import torch
from torch import nn
from torch.utils.data import DataLoader


def main():
    torch.manual_seed(0)
    samples = torch.randn(300, 64)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = DataLoader(samples, batch_size=32)
    for _ in range(6):
        for inputs in loader:
            optimizer.zero_grad()
            loss = (compiled(inputs) - inputs).square().mean()
            loss.backward()
            optimizer.step()
    print(f"final loss {loss.item():.3g}")


if __name__ == "__main__":
    main()
