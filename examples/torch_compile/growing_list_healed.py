"""Keeps the sum of its past in a buffer."""

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
        self.register_buffer("total", torch.zeros(WIDTH))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.total = self.total + x.detach().mean(0)
        self.count = self.count + 1
        return self.last(torch.relu(self.first(x))) + self.total.mean() / self.count


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
