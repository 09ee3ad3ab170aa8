"""Tests whether one run's steps take longer than another's, using all of them.

Successive steps are correlated (a busy neighbour, a growing buffer), so *n* of them are worth less
than *n* independent ones. The interval comes from a moving-block bootstrap, which keeps
neighbours together: Künsch, "The jackknife and the bootstrap for general stationary observations",
Annals of Statistics 17 (1989), on a circle as in Politis and Romano, "A circular block-resampling
procedure for stationary data" (1992). ``python -m benchmarks.comparison`` measures how often it is
wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from xladoctor.comparison.interface import LEAST, Interval

Values = npt.NDArray[np.float64]
_RESAMPLES = 1000
_MOST = 4096  # samples to resample; of more, evenly spaced ones are taken
_TAIL = 0.025
_SEED = 20_031_989
_STRONGEST = 0.97


def change(a: Sequence[float], b: Sequence[float]) -> Interval | None:
    """The relative change of the median from ``a`` to ``b``, with its 95% interval.

    Args:
        a, b: times of steps in the order in which they ran, above zero, in any unit.

    Returns:
        None if either is worth fewer than ``LEAST`` independent steps. Each resample of A is
        compared with each of B, so exchanging the runs inverts the interval.
    """
    if min(effective(a), effective(b)) < LEAST:
        return None
    first, second = _log_medians(a), _log_medians(b)
    low, high = np.quantile(second[:, None] - first[None, :], [_TAIL, 1 - _TAIL])
    ratio = float(np.median(b) / np.median(a))
    return Interval(ratio - 1, math.exp(low) - 1, math.exp(high) - 1)


def effective(samples: Sequence[float]) -> float:
    """The number of independent samples that they are worth: n (1 - ρ) / (1 + ρ) for an AR(1)."""
    rho = _correlation(np.asarray(samples, float))
    return len(samples) * (1 - rho) / (1 + rho)


def block_length(samples: Sequence[float]) -> int:
    """Number of samples to keep together: (√6 ρ / (1 - ρ²))^⅔ n^⅓ for an AR(1), at most a third.

    The length that is best for the variance of a mean: Carlstein, "The use of subseries values",
    Annals of Statistics 14 (1986), with the constant of moving blocks.
    """
    n, rho = len(samples), _correlation(np.asarray(samples, float))
    best = (math.sqrt(6) * rho / (1 - rho * rho)) ** (2 / 3) * n ** (1 / 3)
    return int(max(1, min(math.ceil(best), n // 3)))


def _log_medians(samples: Sequence[float]) -> Values:
    """Logarithms of the medians of resamples, spread as Student's t for so many blocks."""
    values = np.log(np.asarray(samples, float)[:: -(-len(samples) // _MOST)])
    n, length = len(values), block_length(values.tolist())
    starts = np.random.default_rng(_SEED).integers(0, n, (_RESAMPLES, -(-n // length), 1))
    places = ((starts + np.arange(length)) % n).reshape(_RESAMPLES, -1)[:, :n]
    medians = np.median(values[places], axis=1)
    centre = np.median(values)
    wider = 1 + 1.21 / max(n / length - 1, 1)  # t(k - 1) over z at 97.5%, to first order
    spread: Values = centre + (medians - centre) * wider
    return spread


def _correlation(values: Values) -> float:
    """Correlation of neighbours' ranks (single slow steps do not count), less its bias; 0 to 0.97.

    The bias is Kendall's, -(1 + 3 ρ) / n.
    """
    n = len(values)
    ranks = _ranks(values) - (n - 1) / 2
    total = float(ranks @ ranks)
    if n < 3 or total == 0:
        return 0.0
    rho = float(ranks[1:] @ ranks[:-1]) / total
    return min(max(rho + (1 + 3 * rho) / n, 0.0), _STRONGEST)


def _ranks(values: Values) -> Any:
    """Ranks from 0; equal values get the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count + 1) / 2)[place]
