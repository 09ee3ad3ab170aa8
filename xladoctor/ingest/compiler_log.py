"""What readers of compilers' own logs have in common: logs know little of a process, and of a
compilation neither what was handed over nor how often it was launched.
"""

from __future__ import annotations

from typing import Any

from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.interface import Ingested

_UNTOLD = dict.fromkeys(
    ("thread", "step", "launches", "graph_hash", "inputs", "outputs", "memory_bytes", "callbacks",
     "cached", "compile_id", "end_ns", "duration_ns", "callers")
)  # fmt: skip


def add_process(
    number: int, frontend: str, ingested: Ingested, pid: int | None = None, rank: int | None = None
) -> None:
    """Add a process that nothing but a log tells of.

    Args:
        frontend: the framework whose compiler wrote the log.
    """
    ingested.add("process", process=number, pid=pid, rank=rank, host=None, frontend=frontend,
                 device_kind=None, devices=None, ended=True)  # fmt: skip


def compilation(
    process: int, index: int, function: str, ordinal: int, site: CallSite, **told: Any
) -> dict[str, Any]:
    """A row of ``compilation``.

    Args:
        index: number of the compilation in its process.
        ordinal: earlier compilations from the same place.
        told: other columns that the log has.
    """
    return {"process": process, "index": index, "ordinal": ordinal, "cause": f"jit({function})",
            **_UNTOLD, **site.columns(), **told}  # fmt: skip
