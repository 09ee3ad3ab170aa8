"""Starts a program that lowers its computations, and neither compiles nor executes them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xladoctor.errors import XladoctorError
from xladoctor.ingest.interface import IngestError
from xladoctor.quantities import duration
from xladoctor.recording.bootstrap._xladoctor.options import Options
from xladoctor.recording.interface import RunOutcome, RunRequest
from xladoctor.tpu_check.compiler.topology import Topology
from xladoctor.tpu_check.graphs import Found, GraphsError
from xladoctor.tpu_check.kept import kept_graphs
from xladoctor.tpu_check.ladder.vary import Program

_GRAPH_BYTES = 200_000_000
_LAST_LINES = 12  # of what a program printed that failed
_FORCED = "xla_force_host_platform_device_count"

#: Runs a program under capture.
Start = Callable[[RunRequest], RunOutcome]


class LowerError(XladoctorError):
    """A program of which no graph was lowered."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a program lowered: its step first, else the largest graph.

    Attributes:
        run: the directory of the run.
        seconds: how long it took.
        failed: how the program ended before its step was found, in words; empty if it did not.
    """

    found: Found
    run: Path
    seconds: float
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Lowering:
    """How programs are lowered.

    Attributes:
        topologies: for these; a program sees as many devices as the largest has.
        folder: for run directories.
        seconds: the most that a program may take.
        most: how many graphs of each are looked at.
    """

    topologies: Sequence[Topology]
    folder: Path
    seconds: float
    start: Start
    most: int = 1

    def lower(self, program: Program) -> Lowered:
        """Lower a program until its step is known.

        Raises:
            LowerError: no graph was lowered.
            CaptureError: the program cannot be started.
        """
        run = self.folder / f"run-{len([*self.folder.iterdir()])}"
        said = self.folder / f"{run.name}.log"
        request = RunRequest(
            command=program.command,
            script=program.script,
            output=run,
            needs_framework=False,
            options=Options(trace_steps=0, graph_bytes=_GRAPH_BYTES, lower_only=True),
            environment={**self._environment(), **program.environment},
            said=said,
            timeout_s=self.seconds,
        )
        began = time.monotonic()
        outcome = self.start(request)
        seconds = time.monotonic() - began
        try:
            found = kept_graphs(run, self.most, by_size=True)
        except (GraphsError, IngestError) as error:
            last = said.read_text("utf-8", "replace").splitlines()[-_LAST_LINES:]
            why = _ended(outcome) or error.what.removeprefix(f"{run}: ")
            raise LowerError(f"nothing was lowered: {why}", "\n".join(last)) from error
        failed = _ended(outcome) if found.graphs[0].launches is None else ""
        if failed:
            last = said.read_text("utf-8", "replace").splitlines()[-1:]
            failed = ": ".join([f"{failed}, before its step was found", *last])
        return Lowered(found, run, seconds, failed)

    def _environment(self) -> dict[str, str]:
        """The variables with which a program sees as many devices as it will have."""
        devices = max(each.devices or 1 for each in self.topologies)
        flags = os.environ.get("XLA_FLAGS", "")
        platform = {"JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS") or "cpu"}
        if devices == 1 or _FORCED in flags:
            return platform
        return {**platform, "XLA_FLAGS": f"{flags} --{_FORCED}={devices}".strip()}


def _ended(outcome: RunOutcome) -> str:
    """How a program ended otherwise than well; empty if it ended well."""
    if seconds := outcome.limit.get("timeout_s"):
        return f"the program was ended after {duration(seconds)}"
    return f"the program ended with status {outcome.status}" if outcome.status else ""
