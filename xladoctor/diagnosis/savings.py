"""The one place that savings come from.

So far each finding is taken alone: fixing it gives back at most what it costs, so that every saving
is a bound. Savings of findings that overlap must not be added up.
"""

from __future__ import annotations

from xladoctor.diagnosis.interface import Cost, Saving


def saving(cost: Cost, steps: int | None) -> Saving:
    """What a fix gives back at most, for the run and for each of its ``steps``."""
    if cost.seconds is None:
        return Saving(None, None, None, "none")
    per_step = 1e3 * cost.seconds / steps if steps else None
    return Saving(cost.seconds, per_step, cost.share, "bound")
