"""What names mean in the frontends that the evidence is of."""

from __future__ import annotations

from xladoctor.evidence.schema.table import Table, columns

VOCABULARY: dict[str, Table] = {
    "operator_trait": Table(
        "a trait of an operator",
        "frontend",
        columns("""
        op VARCHAR operator, as counters and messages name it
        op_type VARCHAR the same, as compiled modules name it
        trait VARCHAR what it is or does: constant, sized_by_data, takes_numbers and others
    """),
    ),
    "own_counter": Table(
        "counters that look like operators but are not",
        "frontend",
        columns("""
        prefix VARCHAR how their names begin
    """),
    ),
    "metric_meaning": Table(
        "metrics that measure what each frontend does",
        "frontend",
        columns("""
        name VARCHAR name of the metric
        meaning VARCHAR compile, execute, read, upload, sent, eager_compile, eager_execute, …
        rank INTEGER of several that mean the same, the lowest counts
    """),
    ),
    "cause_meaning": Table(
        "what a log says that graphs were launched for",
        "frontend",
        columns("""
        sentence VARCHAR regular expression for a part of the log's sentence (cause)
        meaning VARCHAR barrier or read: a value that is needed before one
    """),
    ),
    "reading_helper": Table(
        "helpers that read from the device",
        "frontend",
        columns("""
        package VARCHAR library that they are in; empty for the framework's own
        function VARCHAR regular expression for what was called (via), of a library for the reader
        kind VARCHAR kind of the read, as in host_sync
        purpose VARCHAR progress, condition, helper, metric, log: what it reads for, if special
        cure VARCHAR what to do instead, a sentence
    """),
    ),
    "reading_line": Table(
        "what lines read values for",
        "frontend",
        columns("""
        call VARCHAR regular expression for the end of the name of what they call; or empty
        method VARCHAR regular expression for the last part of the function's name that they are in
        but VARCHAR regular expression for kinds of reads that they do not tell of
        purpose VARCHAR as in reading_helper
        cure VARCHAR what to do instead, a sentence
    """),
    ),
    "unrecorded": Table(
        "what a capture does not record on a device other than the CPU",
        "frontend",
        columns("""
        what VARCHAR read
    """),
    ),
    "preparation": Table(
        "libraries that decode, resize, augment or tokenize",
        "frontend",
        columns("""
        file VARCHAR regular expression for a part of the path of their files
    """),
    ),
    "replacement": Table(
        "code that does without an operator that has no lowering",
        "frontend",
        columns("""
        op VARCHAR operator, without its overload
        call VARCHAR code that uses it
        instead VARCHAR code that gives the same values, and is lowered
        given VARCHAR what defines its names, if anything
    """),
    ),
}
