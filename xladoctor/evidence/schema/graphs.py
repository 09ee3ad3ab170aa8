"""Compiled graphs, source lines, and why graphs were compiled again."""

from __future__ import annotations

from xladoctor.evidence.schema.table import PROCESS, SITE, Table, columns

GRAPHS: dict[str, Table] = {
    "hlo_module": Table(
        "a module compiled inside the timeline's window",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        program_id BIGINT number of the program
        name VARCHAR name of the module
        graph_hash VARCHAR hash of its graph, where it could be joined
        instructions INTEGER instructions in all computations, after optimization
        donated BIGINT[] parameters whose memory the results may reuse
        devices BIGINT[] devices that it was compiled for, where the module says so
        sharding VARCHAR digest of the shardings of parameters and results; NULL without any
    """
        ),
    ),
    "hlo_instruction": Table(
        "an instruction of such a module, after optimization",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        program_id BIGINT number of the program
        graph_hash VARCHAR hash of its graph
        computation VARCHAR name of its computation
        entry BOOLEAN whether it is in the entry computation
        root BOOLEAN whether it is the result of its computation
        id BIGINT number of the instruction in its module
        name VARCHAR its name
        opcode VARCHAR its operation
        type VARCHAR element type, as HLO text writes it; tuple for tuples
        shape BIGINT[] dimensions
        layout BIGINT[] dimensions from minor to major
        operands BIGINT[] numbers of its operands
        parameter INTEGER position of the parameter, if it is one
        literal VARCHAR value of a constant of at most 16 elements
        attributes VARCHAR bounds, dimensions, padding and the like, as HLO text prints them
        op_type VARCHAR framework operation that it comes from
        op_name VARCHAR its name with scopes
        frame INTEGER innermost frame of its Python stack in hlo_frame, where known
    """
            + SITE
        ),
    ),
    "hlo_frame": Table(
        "a Python frame that instructions come from; `parent` links to its caller",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        program_id BIGINT number of the program
        frame INTEGER number of the frame in its module, from 1
        parent INTEGER number of the caller's frame; 0 for none
        file VARCHAR path
        line INTEGER line, from 1
        function VARCHAR function
        kind VARCHAR user, library, or machinery: Python's own and the framework's
    """
        ),
    ),
    "hlo_parameter": Table(
        "an entry parameter of such a module",
        ".xplane.pb",
        columns(
            PROCESS
            + """
        program_id BIGINT number of the program
        graph_hash VARCHAR hash of its graph
        number INTEGER position of the parameter
        shape BIGINT[] dimensions
        layout BIGINT[] dimensions from minor to major
        type VARCHAR element type, as HLO text writes it
        op VARCHAR operation that made it, as op_type in operator_trait
        sent BOOLEAN whether the line sent it to the device; else it is its first use in this graph
    """
            + SITE
        ),
    ),
    "source_line": Table(
        "text of the named lines as they ran",
        "call_sites.json",
        columns("""
        file VARCHAR path
        line INTEGER line, from 1
        text VARCHAR its text
    """),
    ),
    "ignore_comment": Table(
        "a comment that asks to ignore findings",
        "call_sites.json",
        columns("""
        file VARCHAR path
        line INTEGER line that it is in, from 1
        first_line INTEGER first line that it is about
        last_line INTEGER last line that it is about
        text VARCHAR its text
    """),
    ),
    "recompilation": Table(
        "why a call site compiled again: its graph against the most similar one"
        " that it compiled before",
        "derived",
        columns(
            PROCESS
            + """
        index INTEGER number of the compilation
        against INTEGER number of the earlier compilation
        kind VARCHAR as in docs/recompilation.md: input_shape, constant, operations, evicted, …
        basis VARCHAR key or hlo (two compared), upload (a new shape sent in that step), log, hash
        parameter INTEGER entry parameter that changed
        was VARCHAR what it was: type and dimensions, a number, an instruction, a count
        now VARCHAR what it is
        dimension INTEGER first dimension that differs
        value BIGINT its size in this graph
        op VARCHAR framework operation that differs; for placement, what differs
        role VARCHAR made, or used: where a tensor that existed before is first used
        file VARCHAR file of the line that makes the difference
        line INTEGER that line
        function VARCHAR function that it is in
        user_file VARCHAR path of the user's line that led there, if that one is a library's
        user_line INTEGER that line
        user_function VARCHAR function that it is in
        pattern VARCHAR grows, last_batch or varies: how the sizes or counts develop
        seen INTEGER sizes seen in that dimension
        possible INTEGER sizes in their range, at the steps between them
        used_file VARCHAR path of the line that first uses what the line above made a step before
        used_line INTEGER that line
        used_function VARCHAR function that it is in
        argument VARCHAR path of the argument that differs, as batch['x']
        hint VARCHAR what the compiler suggests, if anything
    """
        ),
    ),
    "graph_change": Table(
        "an operation of a Python line that differs between a compilation and the"
        " one it is compared with, in the order of lowering",
        "derived",
        columns(
            PROCESS
            + """
        index INTEGER number of the compilation
        nth INTEGER order, from 0
        nature VARCHAR added, removed, value (another number), shape, or count
        file VARCHAR file
        line INTEGER line
        function VARCHAR function that the line is in
        user_file VARCHAR path of the user's line that led there, if that one is a library's
        user_line INTEGER that line
        user_function VARCHAR function that it is in
        op VARCHAR framework operation, as op in operator_trait
        was VARCHAR instructions only in the earlier graph, one per line
        now VARCHAR instructions only in this one
        was_count INTEGER how many there are in the earlier graph
        now_count INTEGER and in this one
    """
        ),
    ),
}
