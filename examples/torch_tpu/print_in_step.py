"""Prints in a compiled function, which splits it into two graphs."""

import torch

WIDTH = 64
STEPS = 120


@torch.compile
def score(x, weight):
    hidden = torch.tanh(x @ weight)
    print("hidden", hidden.shape)
    return torch.tanh(hidden @ weight).sum()


def run():
    weight = torch.randn(WIDTH, WIDTH).to("tpu")
    total = torch.zeros((), device="tpu")
    for _ in range(STEPS):
        total += score(torch.randn(32, WIDTH).to("tpu"), weight)
    return total


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"total {run().item():.6g}")
