"""Counts that a budget can limit: per step, for the process with the highest value.

All except the step's time count what the program does, so they are the same in each run.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from xladoctor.diagnosis.findings import location
from xladoctor.diagnosis.interface import Consumer, Count, CountName, Steps
from xladoctor.evidence.interface import Evidence
from xladoctor.frontends.vocabulary import vocabulary
from xladoctor.quantities import first_few

#: Counts of programs for several devices.
OF_DEVICES: tuple[CountName, ...] = ("resharded_bytes_per_step", "replicated_share")
#: The tables that each count needs, and how to combine the rows of the view ``consumer``.
_COUNTED: dict[CountName, tuple[tuple[str, ...], Any]] = {
    "compilations_after_warmup": (("compilation",), sum),
    "host_syncs_per_step": (("host_sync", "step"), sum),
    "fallbacks_per_step": (("counter", "step"), sum),
    "barriers_per_step": (("step",), sum),
    "cache_misses": (("cache_lookup",), sum),
    "peak_memory": (("compilation",), max),
    "live_growth_per_step": (("live_memory",), sum),
    **dict.fromkeys(OF_DEVICES, (("hlo_module",), sum)),
}
_CACHED = "SELECT 1 FROM cache_lookup WHERE folder IS NOT NULL LIMIT 1"
_LOOKED = "SELECT 1 FROM memory_look LIMIT 1"
_RATES_UNKNOWN = "SELECT DISTINCT name FROM resharded WHERE runs_a_step IS NULL ORDER BY name"
_ABSENT = {
    "compilation": "no record of compilations (analysis log or step log)",
    "host_sync": "no record of reads",
    "step": "no steps",
    "counter": "no counters",
    "cache_lookup": "no record of a cache of compiled graphs on disk",
    "live_memory": "no record of what memory the program holds between steps",
}


def counts(evidence: Evidence, steps: Steps | None) -> list[Count]:
    """All counts, known or unknown; see :class:`~xladoctor.diagnosis.interface.Count`."""
    without = () if evidence.database.has_rows("program_sharding") else OF_DEVICES
    counted = [_count(name, evidence) for name in _COUNTED if name not in without]
    median = steps.median_ms if steps else None
    reason = None if median is not None else "no step after warm-up that compiled nothing"
    return [*counted, Count("step_ms", median, reason)]


def _count(name: CountName, evidence: Evidence) -> Count:
    needs, whole = _COUNTED[name]
    absent = [table for table in needs if table not in evidence.available]
    if absent:
        return Count(name, None, _ABSENT[absent[0]])
    loops: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for row in evidence.database.rows(
        "SELECT * FROM consumer WHERE name = $name ORDER BY process, thread, value DESC, file,"
        " line, what",
        {"name": name},
    ):
        loops[row["process"], row["thread"]].append(row)
    partly = {"peak_memory": _graphs_unknown, "resharded_bytes_per_step": _rates_unknown}
    reason = partly[name](evidence) if name in partly else None
    if not loops:
        if name == "peak_memory":
            return Count(name, None, f"{_log(evidence)} does not say how much memory graphs take")
        if name == "cache_misses" and not evidence.database.rows(_CACHED):
            return Count(name, None, "no folder was set for a cache of compiled graphs")
        if name == "live_growth_per_step" and not evidence.database.rows(_LOOKED):
            return Count(name, None, "too few looks at what memory the program holds")
        return Count(name, None if reason else 0.0, reason)
    values = {loop: whole(row["value"] for row in rows) for loop, rows in loops.items()}
    most = max(values, key=lambda loop: values[loop])  # the first of equals
    return Count(
        name, _rounded(values[most]), reason, [_consumer(row, evidence) for row in loops[most]]
    )


def _graphs_unknown(evidence: Evidence) -> str | None:
    compiled, unknown = evidence.database.rows(
        "SELECT count(*) AS compiled,"
        " count(*) FILTER (memory_bytes IS NULL) AS unknown FROM compilation"
    )[0].values()
    if not unknown:
        return None
    return f"{_log(evidence)} does not say how much memory {unknown} of {compiled} graphs take"


def _rates_unknown(evidence: Evidence) -> str | None:
    names = [row["name"] for row in evidence.database.rows(_RATES_UNKNOWN)]
    return f"how often a step runs {first_few(names)} is not known" if names else None


def _log(evidence: Evidence) -> str:
    return vocabulary(evidence.frontend).words.get("log", "the log")


def _rounded(value: float) -> float:
    """A value rounded for display, but never to 0 unless it is 0."""
    return round(value, 4) or value


def _consumer(row: dict[str, Any], evidence: Evidence) -> Consumer:
    file, line = row["file"], row["line"]
    known = file is not None and line is not None
    place = location(evidence, file, line, row["function"]) if known else None
    return Consumer(place, _rounded(row["value"]), row["times"], row["what"])
