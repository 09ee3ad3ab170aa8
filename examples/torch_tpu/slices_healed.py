"""Cuts the data into batches on the host, before they are sent."""

import torch

WIDTH = 32
ROWS = 8
BATCHES = 24
EPOCHS = 4


@torch.compile
def score(x, weight):
    return torch.tanh(x @ weight).sum()


def run():
    weight = torch.randn(WIDTH, WIDTH).to("tpu")
    batches = [part.to("tpu") for part in torch.randn(ROWS * BATCHES, WIDTH).split(ROWS)]
    total = torch.zeros((), device="tpu")
    for _ in range(EPOCHS):
        for batch in batches:
            total += score(batch, weight)
    return total


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"total {run().item():.6g}")
