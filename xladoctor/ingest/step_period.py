"""Finds how many barriers make up one iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

_MAX_PERIOD = 16
_PERIODIC = 0.9
_ONE_UPDATE = 1.1

Numbers = np.ndarray[Any, Any]


def barriers_a_step(sites: Numbers, updates: Numbers, fed: Numbers, idle: Numbers) -> int:
    """How many barriers make up one iteration.

    Args:
        sites: call site of each barrier, in order.
        updates: optimizer steps before each barrier.
        fed: whether new input came before it. If only every 36th barrier at a line follows new
            input, those 36 form one iteration: the barrier is in an inner loop. All False for
            frameworks without barriers, whose launches end steps of the innermost loop already.
        idle: whether it had nothing to launch, as reads had launched all. If most had, each ends an
            iteration: a micro-batch leaves work to its barrier.

    Returns the smallest period that nine in ten barriers keep; 1 if there is none. Two barriers per
    iteration, or eight micro-batches and one update, repeat exactly; an end-of-epoch barrier among
    hundreds does not change the period of the others. A period with several updates is an epoch.
    """
    if 2 * np.count_nonzero(idle) > len(idle):
        return 1
    turn = _distance(fed)
    if turn > 1 and updates.mean() * turn <= _ONE_UPDATE and _keeps(turn, sites, updates):
        return turn
    for sequences in ((sites, updates), (sites,)):  # an update may be left out now and then
        for period in range(1, min(_MAX_PERIOD, len(sites) // 3) + 1):
            if _keeps(period, *sequences):
                return period if period == 1 or updates.mean() * period <= _ONE_UPDATE else 1
    return 1


def _keeps(period: int, *sequences: Numbers) -> bool:
    """Whether nine in ten barriers equal the one a period earlier, over at least three periods."""
    alike = np.all([s[period:] == s[:-period] for s in sequences], axis=0)
    return 3 * period <= len(sequences[0]) and bool(np.mean(alike) >= _PERIODIC)


def _distance(fed: Numbers) -> int:
    """Barriers between inputs, if nine in ten are equally far apart; else 0."""
    distances = np.bincount(np.diff(np.flatnonzero(fed)), minlength=1)
    most = int(distances.argmax())
    return most if distances[most] >= _PERIODIC * max(1, distances.sum()) else 0
