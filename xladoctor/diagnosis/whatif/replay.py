"""Replays a program, as it was or changed."""

# mypy: disable-error-code="arg-type"
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xladoctor.diagnosis.whatif.program import ACTIVITIES, COMPILE, Program
from xladoctor.ingest.xplane.compiled import compiled

Array = np.ndarray[Any, Any]
_NOTHING = 1e-3


@dataclass(frozen=True, slots=True)
class Change:
    """How the program differs from the captured one; ``|`` joins the changes of several fixes.

    Attributes:
        gone: share of each host item's work removed with whole calls, 0 to 1.
        part: the same for work that many fixes reduce, such as Python's time; parts add up.
        waits: whether the item still waits for its execution.
        ahead: call of the item if a thread of its own makes it ahead of the loop, else -1.
        device: share removed from each execution's duration.
        device_part: the same for several fixes; parts add up.
        merged: whether the execution runs as part of the next one.
    """

    gone: Array
    part: Array
    waits: Array
    ahead: Array
    device: Array
    device_part: Array
    merged: Array

    @classmethod
    def none(cls, program: Program) -> Change:
        """The program as it was."""
        items, runs = len(program.work), len(program.duration)
        return cls(
            np.zeros(items),
            np.zeros(items),
            np.ones(items, bool),
            np.full(items, -1),
            np.zeros(runs),
            np.zeros(runs),
            np.zeros(runs, bool),
        )

    def __or__(self, other: Change) -> Change:
        return Change(
            np.maximum(self.gone, other.gone),
            self.part + other.part,
            self.waits & other.waits,
            np.maximum(self.ahead, other.ahead),
            np.maximum(self.device, other.device),
            self.device_part + other.device_part,
            self.merged | other.merged,
        )

    def without_compiling(self, program: Program) -> Change:
        """The change, also without any compilation."""
        return replace(self, gone=np.where(program.activity == COMPILE, 1.0, self.gone))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a replay, in ns: when each item ended, and each execution began and ended."""

    program: Program
    ended: Array
    run_begin: Array
    run_end: Array

    @property
    def total_ns(self) -> int:
        """From the begin of the first item to the end of the last item or execution."""
        return max(int(self.ended[-1]), int(self.run_end.max(initial=0)))

    def of_items(self) -> Array:
        """The time that each item took."""
        return np.diff(self.ended, prepend=0)

    def steady_ns(self) -> float:
        """The time of all steady steps.

        If the host runs ahead of the device, it is the device's time: its work is still to be done.
        """
        return max(float(self.of_items()[self.program.rest].sum()), self.device_ns())

    def host_ns(self) -> dict[str, float]:
        """The host's time in steady steps by activity; tracing and other share Python's."""
        rest = self.program.rest
        lasted = np.bincount(self.program.activity[rest], self.of_items()[rest], len(ACTIVITIES))
        spent = dict(zip(ACTIVITIES, lasted.tolist(), strict=True))
        python = spent.pop("python")
        tracing = 1.0 if np.isnan(self.program.tracing) else self.program.tracing
        return {**spent, "tracing": tracing * python, "other": (1 - tracing) * python}

    def device_ns(self) -> float:
        """How long the device worked for the executions launched in steady steps."""
        launches = self.program.launches[self.program.rest]
        launches = launches[launches >= 0]
        return float((self.run_end - self.run_begin)[launches].sum())


def replay(program: Program, change: Change) -> Outcome:
    """Run the program with a change; time begins at 0."""
    host = _left(change.gone, change.part)
    device = _left(change.device, change.device_part)
    work = np.rint(program.work * host).astype(np.int64)
    awaits = np.where(change.waits & (host > 0), program.awaits, -1)
    runs = np.rint(program.duration * device).astype(np.int64)
    kept = device > 0
    latency, gap = np.where(kept, program.latency, 0), np.where(kept, program.gap, 0)
    ended = np.empty(len(work), np.int64)
    begin, end = np.zeros(len(runs), np.int64), np.zeros(len(runs), np.int64)
    _run(
        work,
        awaits,
        program.after,
        program.launches,
        change.ahead,
        latency,
        gap,
        runs,
        change.merged,
        ended,
        begin,
        end,
    )
    return Outcome(program, ended, begin, end)


def _left(gone: Array, part: Array) -> Array:
    """The remaining factor; less than a thousandth counts as 0."""
    left = 1.0 - np.maximum(gone, part)
    return np.where(left < _NOTHING, 0.0, left)


@compiled(
    "void(int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[::1], int64[::1], bool_[::1], int64[::1], int64[::1], int64[::1])",
    work=lambda work, *_: 20 * len(work),
)
def _run(  # noqa: PLR0913  # the columns of hosts and executions
    work: Array,
    awaits: Array,
    after: Array,
    launches: Array,
    ahead: Array,
    latency: Array,
    gap: Array,
    duration: Array,
    merged: Array,
    ended: Array,
    begin: Array,
    end: Array,
) -> None:
    now, free, worker, taken, pending, call = 0, 0, 0, 0, 0, -1
    for item in range(len(work)):
        if ahead[item] >= 0:
            if ahead[item] != call:  # the thread works one call ahead
                worker, taken, call = max(worker, taken), now, ahead[item]
            worker += work[item]
            now = max(now, worker)
        else:
            now += work[item]
        if awaits[item] >= 0:
            now = max(now, end[awaits[item]] + after[item])
        run = launches[item]
        if run >= 0:
            if merged[run]:
                pending += duration[run]
                begin[run] = end[run] = free
            else:
                begin[run] = max(now + latency[run], free + gap[run])
                free = end[run] = begin[run] + duration[run] + pending
                pending = 0
        ended[item] = now
