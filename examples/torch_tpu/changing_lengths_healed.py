"""The same, padded on the host to one length."""

import torch

WIDTH = 16
STEPS = 60
LONGEST = 16


@torch.compile
def score(x, weight):
    return torch.tanh(x @ weight).sum()


def run():
    weight = torch.randn(WIDTH, WIDTH).to("tpu")
    total = torch.zeros((), device="tpu")
    for step in range(STEPS):
        tokens = torch.randn(8 + step * 3 % 7, WIDTH)
        tokens = torch.nn.functional.pad(tokens, (0, 0, 0, LONGEST - len(tokens)))  # tanh(0) is 0
        total += score(tokens.to("tpu"), weight)
        if step % 20 == 19:
            print(f"{step + 1} steps: {total.item():.6g}")
    return total


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"total {run().item():.6g}")
