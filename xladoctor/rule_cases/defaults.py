"""The default values of a row in a case; docs/rule-cases.md has the same as a table."""

from __future__ import annotations

from typing import Any

from xladoctor.evidence.schema import TABLES
from xladoctor.frontends.vocabulary import vocabulary

Row = dict[str, Any]

#: Defaults of any table that has the column.
BASE: Row = {"process": 0, "thread": 1, "file": "train.py", "function": "train", "via": ""}
#: Further defaults by table; other columns are unknown (NULL). A step is 1 ms of the main thread
#: and ends with a barrier at train.py:40.
DEFAULTS: dict[str, Row] = {
    "step": {
        "main": True,
        "tail": False,
        "index": 0,
        "barriers": 1,
        "ordinal": 0,
        "duration_ns": 1_000_000,
        "compile_ns": 0,
        "read_ns": 0,
        "input_ns": 0,
        "barrier_ns": 0,
        "upload_ns": 0,
        "executions": 1,
        "compilations": 0,
        "optimizer_steps": 1,
        "log_offset": 0,
        "traced": False,
        "probed": False,
        "line": 40,
    },
    "host_sync": {"tail": False, "closure": False, "count": 1, "duration_ns": 0, "compile_ns": 0},
    "compilation": {
        "line": 40,
        "cause": f"user {vocabulary().words.get('barrier', 'barrier')}",
        "inputs": 2,
        "outputs": 1,
    },
    "transfer": {"direction": "to_device"},
    "fallback": {"count": 1, "duration_ns": 0, "compile_ns": 0},
    "fallback_count": {"tail": False},
    "pod_process": {"shift": 0, "offset_ns": 0, "aligned_by": "collectives"},
    "environment": {"file": None, "function": None, "set_by": "environment"},
}


def defaults(table: str) -> Row:
    """The values of a table's columns that a row of a case may leave out."""
    base = {key: value for key, value in BASE.items() if key in TABLES[table].columns}
    return {**base, **DEFAULTS.get(table, {})}
