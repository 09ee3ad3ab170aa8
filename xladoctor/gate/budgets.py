"""Checks budgets: which ones apply to a program, and whether its counts are within them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xladoctor.configuration.interface import Gate
from xladoctor.diagnosis.counts import OF_DEVICES
from xladoctor.diagnosis.interface import Count, Diagnosis
from xladoctor.gate.interface import BudgetOutcome
from xladoctor.repository import matches

_PREFIX = "max_"
#: The budget for which the program is started twice.
SECOND_START = "max_compilations_second_start"
#: Budgets whose names are not those of their counts.
_COUNTS = {"must_fit": "graphs_too_large", SECOND_START: "cache_misses"}
_NOT_COMPILED = "no graph was compiled for a TPU (--tpu-check)"
#: Why counts are not there that only some runs have.
_ABSENT: dict[str, str] = {
    "sharding_changes": "the baseline has no shardings of this program",
    **dict.fromkeys(OF_DEVICES, "no compiled program"),
}
_LINES = 5  # lines named, those that contribute most
_EXACT = 1e-9


def limits(gate: Gate, script: str) -> dict[str, float]:
    """The budgets of a program, by name; its own override the ones for all programs."""
    limits = gate.budgets.given()
    for glob, budgets in gate.scripts.items():
        if matches(glob, script):
            limits.update(budgets.given())
    return limits


def asks_for_second_start(gate: Gate) -> bool:
    """Whether any program's budgets need a second start."""
    return any(SECOND_START in each.given() for each in (gate.budgets, *gate.scripts.values()))


def kept(diagnosis: Diagnosis, budgets: dict[str, float]) -> Iterator[BudgetOutcome]:
    """Each budget with its outcome; if it is exceeded, with the lines that contribute most."""
    counts = {count.name: count for count in diagnosis.counts}
    if diagnosis.shardings is not None:  # without the counts, each program is for one device
        counts = {name: Count(name, 0.0) for name in OF_DEVICES} | counts
    for name, limit in budgets.items():
        counted: Any = _COUNTS.get(name, name.removeprefix(_PREFIX))
        count = counts.get(counted) or Count(counted, None, _ABSENT.get(counted, _NOT_COMPILED))
        yield _outcome(name, limit, count)


def _outcome(name: str, limit: float, count: Count) -> BudgetOutcome:
    named = count.consumers if count.name == "sharding_changes" else count.consumers[:_LINES]
    if count.value is None:
        return BudgetOutcome(name, count.name, limit, None, "unknown", count.reason or "")
    if count.value <= limit + _EXACT:
        if count.reason:
            return BudgetOutcome(name, count.name, limit, count.value, "unknown", count.reason)
        return BudgetOutcome(name, count.name, limit, count.value, "within")
    return BudgetOutcome(name, count.name, limit, count.value, "over", "", named)
