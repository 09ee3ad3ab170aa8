"""What a run directory had when the run ended, held against what is there.

``run.json`` lists each file with its size, so that a copy that was cut off, even at the end of a
line, is not taken for a short run. Where it has no list, as its launcher was killed, those in the
records of the processes count. Files that grew since (a worker went on) are complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from xladoctor.ingest.interface import Ingested

_OF_STEPS = (
    "step",
    "cut",
    "step_period",
    "host_sync",
    "data_wait",
    "transfer",
    "upload",
    "state_save",
    "optimizer",
    "idle_optimizer",
    "loader",
    "empty_pass",
    "fallback_count",
    "outlier",
    "compilation",
    "counter",
    "recompilation",
    "compile_phase",
    "graph_break",
    "compile_limit",
)
_OF_MODULES = (
    "hlo_module",
    "hlo_instruction",
    "hlo_parameter",
    "hlo_frame",
    "recompilation",
    "graph_change",
)
_OF_TIMELINE = (
    "timeline",
    "plane",
    "line",
    "event",
    "event_stat",
    "timeline_step",
    "host_segment",
    "region",
    "compiled_part",
    "split_call",
    "device",
    "device_step",
    "device_execution",
    "device_op",
    "idle_gap",
    "host_op",
    "eager_op",
    "kernel_site",
    "device_launch",
)
#: Tables that have rows of a file, by the pattern of its name; no table has rows of other files.
TABLES: dict[str, tuple[str, ...]] = {
    "steps.jsonl": _OF_STEPS,
    "metrics.txt": ("metric", "counter"),
    "analysis*.log": ("compilation", "execution", "recompilation"),
    "modules*.xplane.pb": _OF_MODULES,
    "*.xplane.pb": (*_OF_TIMELINE, *_OF_MODULES),
    "*.trace.json.gz": _OF_TIMELINE,
    "call_sites.json": (
        "enclosing_loop",
        "fallback",
        "ignore_comment",
        "read_origin",
        "source_line",
    ),
    "host_samples.json": ("host_sample",),
    "processor.jsonl": ("processor_use",),
    "faults.log": ("capture_fault",),
    "process.json": (
        "process",
        "version",
        "environment",
        "capture_window",
        *_OF_STEPS,
        "metric",
        *_OF_MODULES,
    ),
}


def tables_of(file: str) -> tuple[str, ...]:
    """The tables that have rows of a file."""
    name = Path(file).name
    return next((tables for pattern, tables in TABLES.items() if fnmatch(name, pattern)), ())


def check(path: Path, files: Mapping[str, int], ingested: Ingested) -> None:
    """Lose what was in files of a run directory that are shorter than they were, or gone.

    Args:
        files: sizes in bytes by path.
    """
    for file, size in files.items():
        try:
            now = (path / file).lstat().st_size
        except (OSError, ValueError):
            ingested.lose(f"{path / file}: is gone; what was in it is lost", *tables_of(file))
            continue
        if now < size:
            ingested.lose(
                f"{path / file}: is cut off after {now:,} of {size:,} bytes; what was in"
                " the rest is lost",
                *tables_of(file),
            )
