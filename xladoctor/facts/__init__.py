"""Every table of the evidence, with its unit and where it comes from.

Instants are nanoseconds of the wall clock, durations nanoseconds. A *call site* is the innermost
line that is neither Python's own nor the framework's; if that line is in an installed package,
``user_*`` is the user's nearest line.
"""

from xladoctor.facts import (
    activity,
    calls,
    compilations,
    graphs,
    memory,
    pod,
    recorded,
    run,
    sharding,
    steps,
    timeline,
    tpu,
    vocabulary,
)
from xladoctor.facts.table import Table, tables

TABLES: dict[str, Table] = tables(
    run,
    steps,
    compilations,
    calls,
    *recorded.MODULES,
    timeline,
    activity,
    graphs,
    sharding,
    tpu,
    memory,
    pod,
    vocabulary,
)
