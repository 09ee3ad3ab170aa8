"""Every table, public view and macro of the evidence: what rules and queries can read."""

from xladoctor.evidence.schema import examples
from xladoctor.evidence.schema.views import VIEWS
from xladoctor.facts import TABLES
from xladoctor.facts.table import Column, Table

#: What changed in tables, public views and macros, by version; rules of others rely on them.
CHANGES = {
    1: "The first that is a contract.",
    2: "recompiled() has no argument `cheap`: graphs that all come early are information.",
}
EVIDENCE_VERSION = max(CHANGES)
EXAMPLES = {name: table.example for name, table in TABLES.items()} | examples.EXAMPLES

__all__ = ["CHANGES", "EVIDENCE_VERSION", "EXAMPLES", "TABLES", "VIEWS", "Column", "Table"]
