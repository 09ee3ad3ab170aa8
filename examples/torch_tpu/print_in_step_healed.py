"""Prints outside of the compiled function, in one step of fifty."""

import torch

WIDTH = 64
STEPS = 120


@torch.compile
def score(x, weight):
    hidden = torch.tanh(x @ weight)
    return torch.tanh(hidden @ weight).sum()


def run():
    weight = torch.randn(WIDTH, WIDTH).to("tpu")
    total = torch.zeros((), device="tpu")
    for step in range(STEPS):
        total += score(torch.randn(32, WIDTH).to("tpu"), weight)
        if step % 50 == 0:
            print("step", step)
    return total


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"total {run().item():.6g}")
