"""Adds the loss up on the device, and reads it once."""

import torch

WIDTH = 64
STEPS = 120


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.last = torch.nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    compute_loss = torch.compile(lambda x: model(x).square().mean())
    total = torch.zeros((), device="tpu")
    for _ in range(STEPS):
        batch = torch.randn(64, WIDTH).to("tpu")
        loss = compute_loss(batch)
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
