"""Every table and column of the evidence, with its unit and where it comes from.

Instants are nanoseconds of the wall clock, durations nanoseconds. A *call site* is the innermost
line that is not Python's, torch's or torch_xla's own; where that line lies in an installed package,
``user_*`` is the nearest line of the user's.
"""

from xladoctor.evidence.schema.graphs import GRAPHS
from xladoctor.evidence.schema.run import RUN
from xladoctor.evidence.schema.table import Column, Table
from xladoctor.evidence.schema.timeline import TIMELINE

TABLES: dict[str, Table] = {**RUN, **TIMELINE, **GRAPHS}

__all__ = ["TABLES", "Column", "Table"]
