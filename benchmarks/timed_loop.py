"""Runs a loop that yields once a step, and prints how long each step took; see `turns`."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any


def start() -> int:
    """Say that the program is ready, and wait until it may go on; the instant before that."""
    ready_ns = time.time_ns()
    _wait(f"ready {os.getpid()}")
    return ready_ns


def run(ready_ns: int, losses: Iterator[Any], last: Callable[[Any], dict[str, Any]]) -> None:
    """Run the loop, and print what it took.

    Args:
        ready_ns: what :func:`start` returned.
        losses: yields within each step.
        last: given the last of these, what has to be the same in each run of the program, under
            ``same``, and anything else.
    """
    ended, spent, loss = [], [], None
    began = time.perf_counter_ns()
    for current in losses:
        loss = current
        now = time.perf_counter_ns()
        ended.append(time.time_ns())
        spent.append(now - began)
        began = now
    told = last(loss)
    _wait("done")
    print(
        json.dumps(
            {
                "ready_ns": ready_ns,
                "ended_ns": ended,
                "spent_ns": spent,
                **told,
                "done_ns": time.time_ns(),
            }
        ),
        flush=True,
    )


def _wait(word: str) -> None:
    print(word, flush=True)
    sys.stdin.readline()
