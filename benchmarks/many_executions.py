"""Executes a graph of one addition many times, which ends in a value that tells whether it did.

    python benchmarks/many_executions.py EXECUTIONS STEPS_A_READ

Prints a line of JSON at its start, at each twentieth of the way, and at the end: how many
executions torch_xla counts, and the wall clock in nanoseconds.
"""

import json
import os
import sys
import time

import torch
import torch_xla


def say(done: int) -> None:
    """Where the loop is."""
    print(json.dumps({"pid": os.getpid(), "done": done, "wall_ns": time.time_ns()}), flush=True)


def main(executions: int, steps_a_read: int) -> None:
    """Run the loop: the shortest one that there is of an operation, a barrier and, rarely, a read.

    Raises:
        SystemExit: the value or torch_xla's counters do not match the number of executions.
    """
    value = torch.zeros((), dtype=torch.int64, device=torch_xla.device())
    twentieth = max(1, executions // 20)
    say(0)
    for done in range(1, executions + 1):
        value.add_(1)
        torch_xla.sync()
        if done % steps_a_read == 0:
            value.item()
        if done % twentieth == 0:
            say(done)
    counter = torch_xla._XLAC._xla_counter_value
    counted = (counter("UncachedCompile") or 0) + (counter("CachedCompile") or 0)
    if value.item() != executions or counted != executions:
        raise SystemExit(f"value {value.item()}, {counted} graphs counted, not {executions}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
