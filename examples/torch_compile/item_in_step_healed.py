"""Keeps the largest value in a buffer."""

import torch

BATCH = 16
WIDTH = 32
STEPS = 40
BACKEND = "aot_eager"  # compiles faster; with Inductor it is the same


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.last = torch.nn.Linear(WIDTH, 1)
        self.register_buffer("largest", torch.zeros(()))

    def forward(self, x):
        y = torch.relu(self.first(x))
        self.largest = torch.maximum(self.largest, y.detach().amax())
        return self.last(y)


def train(model):
    compiled = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        loss = compiled(torch.randn(BATCH, WIDTH)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss


def main():
    torch.manual_seed(0)
    print(f"final loss {train(Model()).item():.6g}")


if __name__ == "__main__":
    main()
