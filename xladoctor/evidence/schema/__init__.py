"""Every table and column of the evidence, with its unit and where it comes from.

Instants are nanoseconds of the wall clock, durations nanoseconds. A *call site* is the innermost
line that is neither Python's own nor the framework's; if that line is in an installed package,
``user_*`` is the user's nearest line.
"""

from xladoctor.evidence.schema.examples import EXAMPLES
from xladoctor.evidence.schema.graphs import GRAPHS
from xladoctor.evidence.schema.run import RUN
from xladoctor.evidence.schema.table import Column, Table
from xladoctor.evidence.schema.timeline import TIMELINE
from xladoctor.evidence.schema.views import VIEWS
from xladoctor.evidence.schema.vocabulary import VOCABULARY

#: What changed in tables, public views and macros, by version; rules of others rely on them.
CHANGES = {
    1: "The first that is a contract.",
    2: "recompiled() has no argument `cheap`: graphs that all come early are information.",
}
EVIDENCE_VERSION = max(CHANGES)
TABLES: dict[str, Table] = {**RUN, **TIMELINE, **GRAPHS, **VOCABULARY}

__all__ = ["CHANGES", "EVIDENCE_VERSION", "EXAMPLES", "TABLES", "VIEWS", "Column", "Table"]
