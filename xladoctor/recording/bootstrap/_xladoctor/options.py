"""The options of the capture, as handed down to every process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

VARIABLE = "XLADOCTOR_OPTIONS"


@dataclass(frozen=True)
class Options:
    """Set by the command line; the defaults are those of the command line.

    Attributes:
        session: folder of the timelines below ``plugins/profile/``.
        trace_steps: steps that the timeline's window covers; 0 for no timeline.
        trace_after: barriers before the window opens; None to wait until the loop is steady.
        trace_seconds: seconds that it covers at most, without compilation and waits.
        trace_bytes: size limit of the timeline, and of the compiled modules.
        graph_bytes: size limit of the graphs that are kept as they were before optimization; 0 for
            none.
        stop_after: steps after which the program is ended; 0 for never.
        lower_only: whether computations are lowered, and neither compiled nor executed.
        counts_only: for expectations: no samples, no framework log, and compiled modules only on
            request.
    """

    session: str = "run"
    trace_steps: int = 60
    trace_after: int | None = None
    trace_seconds: float = 15.0
    trace_bytes: int = 100_000_000
    graph_bytes: int = 20_000_000
    stop_after: int = 0
    lower_only: bool = False
    counts_only: bool = False


def read() -> Options:
    """The options of this process; the defaults if none were handed down."""
    return Options(**json.loads(os.environ.get(VARIABLE, "{}")))
