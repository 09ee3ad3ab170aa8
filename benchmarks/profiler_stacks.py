"""What torch.profiler's stacks and shapes cost: how much slower the host runs small operators.

    python -m benchmarks.profiler_stacks [--rounds 9]

Each round profiles the same operators plainly, with stacks, with shapes, and with both, one after
the other. For each it prints the ratio to the plain profile of its round: median and range.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from torch.profiler import ProfilerActivity, profile

OPERATORS = 9000
WAYS = {
    "plain": {},
    "stacks": {"with_stack": True},
    "shapes": {"record_shapes": True},
    "both": {"with_stack": True, "record_shapes": True},
}


def seconds(way: dict[str, bool]) -> float:
    """How long the operators take under such a profile, without starting and ending it."""
    x = y = torch.randn(8, 8)
    with profile(activities=[ProfilerActivity.CPU], **way):
        begin = time.perf_counter()
        for _ in range(OPERATORS // 3):
            y = (y * 1.01 + x).tanh()
        return time.perf_counter() - begin


def main() -> None:
    """Measure, and print a line for each way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    seconds({})
    taken = [{name: seconds(way) for name, way in WAYS.items()} for _ in range(rounds)]
    for name in list(WAYS)[1:]:
        ratios = [each[name] / each["plain"] for each in taken]
        median, least, most = statistics.median(ratios), min(ratios), max(ratios)
        print(f"{name:<7} {median:.2f} ({least:.2f} to {most:.2f})")


if __name__ == "__main__":
    main()
