"""The tables of the evidence, and what of it rules and queries of others can rely on."""

from xladoctor.facts import TABLES
from xladoctor.facts.table import Column, Table

#: What changed in tables, public views and macros, by version; rules of others rely on them.
CHANGES = {
    1: "The first that is a contract.",
    2: "recompiled() has no argument `cheap`: graphs that all come early are information.",
    3: "Fifteen tables and views are stable, with the macros; the others may change. fallback_op"
    " has no column `often`: it is a threshold of rules.",
}
EVIDENCE_VERSION = max(CHANGES)
#: What rules and queries of others can rely on: a change of these is a new version.
STABLE = frozenset(
    (
        "process",
        "environment",
        "step",
        "loop",
        "steady_step",
        "read_in_loop",
        "upload",
        "data_wait",
        "explained_compilation",
        "compiled_site",
        "fallback_op",
        "timeline_step",
        "device_step",
        "device_op",
        "host_line",
    )
)

__all__ = [
    "CHANGES",
    "EVIDENCE_VERSION",
    "STABLE",
    "TABLES",
    "Column",
    "Table",
]
