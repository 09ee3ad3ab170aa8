"""What a report on a generated pod must say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tests.pods.simulation import Pod, Run, Sickness, compiles, throttled

#: What of the step of the host or device differs; of all of them, if none is named.
Differs = Literal[
    "input",
    "python",
    "compute",
    "compile",
    "graph",
    "exchange",  # collectives take long although all arrive together
    "skew",  # collectives take long since some host, never the same, arrives late
    "idle",
    "clock",  # of the evidence alone: times have to be corrected; steps are as they should be
    "steps",  # it is behind, more and more
]


@dataclass(frozen=True)
class Truth:
    """What is sick.

    Attributes:
        host, device: that strike; None if none does alone.
        differs: what of their step.
        collective: where the others wait most for them.
        steps: numbers of the host's steps in which it shows; None: in all.
    """

    differs: Differs
    host: int | None = None
    device: int | None = None
    collective: str | None = None
    steps: tuple[int, ...] | None = None


def truth(run: Run) -> Truth | None:
    """What is sick in a pod; None if nothing is, and a report has to be silent."""
    pod = run.pod
    if pod.sickness is None:
        return None
    differs = _DIFFERS[pod.sickness]
    if pod.sickness in ("bandwidth", "skew"):
        return Truth(differs)
    device = pod.device if pod.sickness in ("device", "throttled", "idle") else None
    return Truth(differs, pod.host, device, _waited_in(pod), _steps(run))


def _waited_in(pod: Pod) -> str | None:
    """The first collective behind what is slow, or the one behind most of it."""
    if pod.sickness in ("input", "python", "compilation"):
        return "all-reduce.1"
    return "collective-broadcast.1" if pod.sickness == "feeding" else None


def _steps(run: Run) -> tuple[int, ...] | None:
    """A device runs a step while its host prepares the next, so that it shows in that one."""
    count = np.arange(len(run.number))
    if run.pod.sickness == "throttled":
        return tuple((run.number[throttled(count)] + 1).tolist())
    if run.pod.sickness == "compilation":
        return tuple(run.number[compiles(count)].tolist())
    return None


_DIFFERS: dict[Sickness, Differs] = {
    "input": "input",
    "python": "python",
    "compute": "compute",
    "device": "compute",
    "throttled": "compute",
    "compilation": "compile",
    "graph": "graph",
    "feeding": "input",
    "bandwidth": "exchange",
    "skew": "skew",
    "idle": "idle",
    "drift": "clock",
    "offset": "steps",
}
