"""Every table, public view and macro of the evidence: what rules and queries can read."""

from xladoctor.evidence.schema import examples
from xladoctor.evidence.schema.views import VIEWS
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
EXAMPLES = {name: table.example for name, table in TABLES.items()} | examples.EXAMPLES

__all__ = [
    "CHANGES",
    "EVIDENCE_VERSION",
    "EXAMPLES",
    "STABLE",
    "TABLES",
    "VIEWS",
    "Column",
    "Table",
]
