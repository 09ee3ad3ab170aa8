"""Passes a function that is made anew in each step, for which all is compiled again."""

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

    def forward(self, x, activation):
        return self.last(activation(self.first(x)))


def train(model):
    compiled = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    made = []  # keeps each alive
    for _ in range(STEPS):
        namespace = {"torch": torch}
        exec("def activation(v): return torch.relu(v)", namespace)
        made.append(namespace["activation"])
        loss = compiled(torch.randn(BATCH, WIDTH), made[-1]).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss


def main():
    torch.manual_seed(0)
    print(f"final loss {train(Model()).item():.6g}")


if __name__ == "__main__":
    main()
