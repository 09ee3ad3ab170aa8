"""Trains on sentences of three lengths in turn, with room for two compiled graphs.

XLA_COMPILATION_CACHE_SIZE was lowered to save memory: each graph has pushed out the one that
comes next, which is compiled again.
"""

import os

os.environ["XLA_COMPILATION_CACHE_SIZE"] = "2"

import torch
import torch_xla
from torch import nn
from torch.nn.functional import cross_entropy

VOCABULARY = 64
BATCH = 16
BUCKETS = (16, 32, 64)
ROUNDS = 8


def batches():
    """Yield sequences of tokens that count up, and for each token the one that follows it."""
    for _ in range(ROUNDS):
        for length in BUCKETS:
            starts = torch.randint(VOCABULARY, (BATCH, 1))
            tokens = (starts + torch.arange(length + 1)) % VOCABULARY
            yield tokens[:, :-1], tokens[:, 1:]


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
    for inputs, targets in batches():
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        torch_xla.sync()
    return loss


def main():
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY, bias=False))
    loss = train(model.to(device), device)
    print(f"final loss {loss.item():.9g}")


if __name__ == "__main__":
    main()
