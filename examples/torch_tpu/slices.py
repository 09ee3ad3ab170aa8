"""Walks over a tensor of the device by slices: each place that one begins at is compiled."""

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
    data = torch.randn(ROWS * BATCHES, WIDTH).to("tpu")
    total = torch.zeros((), device="tpu")
    for _ in range(EPOCHS):
        for start in range(0, len(data), ROWS):
            total += score(data[start : start + ROWS], weight)
    return total


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"total {run().item():.6g}")
