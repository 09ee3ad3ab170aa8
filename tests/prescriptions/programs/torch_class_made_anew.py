"""Trains a compiled step with an object whose class is made anew in each step."""

import torch

STEPS = 24


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(32, 32)

    def forward(self, x, scale):
        return self.first(x) * scale.factor


def main():
    torch.manual_seed(0)
    model = Model()
    compiled = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        scale = type("Scale", (), {"factor": 0.5})()
        loss = compiled(torch.randn(16, 32), scale).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"final loss {loss.item():.6g}")


if __name__ == "__main__":
    main()
