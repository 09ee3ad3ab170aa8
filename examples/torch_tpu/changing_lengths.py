"""Calls a compiled function with sequences of changing length; each length is compiled."""

import torch

WIDTH = 16
STEPS = 60


@torch.compile
def score(x, weight):
    return torch.tanh(x @ weight).sum()


def run():
    weight = torch.randn(WIDTH, WIDTH).to("tpu")
    total = torch.zeros((), device="tpu")
    for step in range(STEPS):
        tokens = torch.randn(8 + step * 3 % 7, WIDTH)
        total += score(tokens.to("tpu"), weight)
        if step % 20 == 19:
            print(f"{step + 1} steps: {total.item():.6g}")
    return total


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"total {run().item():.6g}")
