"""Trains a small language model whose step torch.compile splits, and compiles for each length.

`report` prints a number in the middle of the step, where the compiled function breaks in two; and
each batch is padded to its own longest sentence, while `dynamic=False` asks for a graph for each.
"""

import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.profiler import ProfilerActivity, profile, schedule

VOCABULARY = 64
LENGTHS = [16, 16, 16, 16, 16, 24, 16, 24, 16, 32, 24, 16, 32, 40, 16, 24, 32, 40, 16, 48, 32, 16]


def report(loss):
    if loss.item() > 100:
        print(f"diverged: {loss.item():.3f}")


@torch.compile(backend="aot_eager", dynamic=False)
def loss_of(model, tokens):
    logits = model(tokens[:, :-1])
    loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    report(loss)
    return loss + 1e-4 * logits.square().mean()


def train(model, profiler):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for length in LENGTHS:
        starts = torch.randint(VOCABULARY, (16, 1))
        tokens = (starts + torch.arange(length)) % VOCABULARY
        loss_of(model, tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
        profiler.step()


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY))
    window = schedule(wait=1, warmup=1, active=len(LENGTHS) - 2)
    with profile(activities=[ProfilerActivity.CPU], schedule=window) as profiler:
        train(model, profiler)
    profiler.export_chrome_trace(sys.argv[1])


if __name__ == "__main__":
    main()
