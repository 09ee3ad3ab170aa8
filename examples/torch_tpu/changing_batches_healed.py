"""Pads batches on the host to one size; the loss leaves out what was added."""

import torch

WIDTH = 32
STEPS = 60
SIZE = 32


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.last = torch.nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total = torch.zeros((), device="tpu")
    for step in range(STEPS):
        batch = torch.randn(8 + step * 7 % 24, WIDTH)
        there = (torch.arange(SIZE) < len(batch)).float().unsqueeze(1)
        batch = torch.nn.functional.pad(batch, (0, 0, 0, SIZE - len(batch)))
        there = there.to("tpu")
        loss = (model(batch.to("tpu")).square() * there).sum() / there.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total / STEPS


def main():
    torch.manual_seed(0)
    print(f"final loss {train(Model().to('tpu')).item():.6g}")


if __name__ == "__main__":
    main()
