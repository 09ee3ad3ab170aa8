"""A training loop with steps of about a millisecond, which times itself.

Prints one line of JSON: the median step outside the timeline's window, in milliseconds, and the
seconds that the process spent outside its steps.
"""

import json
import statistics
import sys
import time

import torch
import torch_xla
from torch import nn

FIRST_TIMED = 300  # warm-up and the timeline's window (60 steps) lie before


def main(steps: int) -> None:
    """Train for so many steps and print the figures."""
    torch.manual_seed(0)
    device = torch_xla.device()
    model = nn.Linear(64, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    spent = []
    for _ in range(steps):
        began = time.perf_counter()
        inputs = torch.randn(32, 64).to(device)
        optimizer.zero_grad()
        loss = (model(inputs) ** 2).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        spent.append(time.perf_counter() - began)
    print(json.dumps({"median_ms": 1e3 * statistics.median(spent[FIRST_TIMED:]),
                      "steps_s": sum(spent)}))  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
