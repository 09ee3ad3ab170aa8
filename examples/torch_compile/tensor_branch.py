"""Decides by a value of a tensor what to compute, which splits the graph."""

import torch

BATCH = 16
WIDTH = 32
STEPS = 40
BACKEND = "inductor"  # the default


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)
        self.last = torch.nn.Linear(WIDTH, 1)

    def forward(self, x):
        y = torch.relu(self.first(x))
        if y.mean() > 0.1:
            y = y * 0.5
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
