"""Compiled graphs, source lines, and why graphs were compiled again."""

from typing import Annotated

from xladoctor.facts.files import MODULE_FILES
from xladoctor.recording.bootstrap._xladoctor.facts import (
    Fact,
    Number,
    Position,
    Recorded,
    Site,
    Size,
    derived,
)

#: The name of a compiled function that the evidence does not name.
UNNAMED = "a function"


class _Module(Fact, source=".xplane.pb", files=MODULE_FILES): ...


class HloModule(
    _Module,
    example="SELECT program_id, name, instructions FROM hlo_module ORDER BY instructions DESC",
):
    """A module compiled inside the timeline's window."""

    program_id: Annotated[int, "number of the program"]
    name: Annotated[str, "name of the module"]
    graph_hash: Annotated[str, "hash of its graph, where it could be joined"]
    instructions: Annotated[Number, "instructions in all computations, after optimization"]
    donated: Annotated[tuple[int, ...], "parameters whose memory the results may reuse"]
    aliased: Annotated[tuple[int, ...], "of these, those whose memory a result does take"]
    devices: Annotated[
        tuple[int, ...], "devices that it was compiled for, where the module says so"
    ]
    sharding: Annotated[str, "digest of the shardings of parameters and results; NULL without any"]
    partitions: Annotated[Number, "devices that its arrays are divided over; 1 for no others"]
    mesh: Annotated[str, "axes of these devices, as data=4, model=2, where they have names"]
    memory_bytes: Annotated[Size, "of a device that it takes at its peak, where it says so"]


class MemoryBuffer(
    _Module,
    example="SELECT role, file, line, sum(bytes) AS bytes FROM memory_buffer GROUP BY ALL"
    " ORDER BY bytes DESC",
):
    """What such a module holds in a device's memory at its peak; of buffers that are much smaller
    than others, the sum of each role.
    """

    position: Position = derived()
    program_id: Annotated[int, "number of the program"]
    role: Annotated[
        str,
        "argument, result, activation (of the forward pass, which the backward pass reads),"
        " temporary, constant, or unused",
    ]
    bytes: Annotated[Size, "that it takes"]
    count: Annotated[Number, "buffers"]
    reused: Annotated[bool, "of an argument: whether a result takes its place"]
    number: Annotated[Number, "position of the argument"]
    instruction: Annotated[str, "name of the instruction that fills it"]
    opcode: Annotated[str, "operation of that instruction"]
    type: Annotated[str, "element type"]
    shape: Annotated[tuple[int, ...], "dimensions"]
    op_name: Annotated[str, "the framework's name with scopes; of an argument, its path"]
    site: Site


class HloInstruction(
    _Module, example="SELECT opcode, count(*) AS n FROM hlo_instruction GROUP BY opcode"
):
    """An instruction of such a module, after optimization."""

    position: Position = derived()
    program_id: Annotated[int, "number of the program"]
    graph_hash: Annotated[str, "hash of its graph"]
    computation: Annotated[str, "name of its computation"]
    entry: Annotated[bool, "whether it is in the entry computation"]
    root: Annotated[bool, "whether it is the result of its computation"]
    id: Annotated[int, "number of the instruction in its module"]
    name: Annotated[str, "its name"]
    opcode: Annotated[str, "its operation"]
    type: Annotated[str, "element type, as HLO text writes it; tuple for tuples"]
    shape: Annotated[tuple[int, ...], "dimensions"]
    layout: Annotated[tuple[int, ...], "dimensions from minor to major"]
    operands: Annotated[tuple[int, ...], "numbers of its operands"]
    parameter: Annotated[Number, "position of the parameter, if it is one"]
    literal: Annotated[str, "value of a constant of at most 16 elements"]
    attributes: Annotated[str, "bounds, dimensions, padding and the like, as HLO text prints them"]
    op_type: Annotated[str, "framework operation that it comes from"]
    op_name: Annotated[str, "its name with scopes"]
    frame: Annotated[Number, "innermost frame of its Python stack in hlo_frame, where known"]
    site: Site


class HloFrame(_Module, example="SELECT DISTINCT file, line, function FROM hlo_frame"):
    """A Python frame that instructions come from; `parent` links to its caller."""

    program_id: Annotated[int, "number of the program"]
    frame: Annotated[Number, "number of the frame in its module, from 1"]
    parent: Annotated[Number, "number of the caller's frame; 0 for none"]
    file: Annotated[str, "path"]
    line: Annotated[Number, "line, from 1"]
    function: Annotated[str, "function"]
    kind: Annotated[str, "user, library, or machinery: Python's own and the framework's"]


class HloParameter(
    _Module, example="SELECT number, type, shape, file, line FROM hlo_parameter WHERE sent"
):
    """An entry parameter of such a module."""

    program_id: Annotated[int, "number of the program"]
    graph_hash: Annotated[str, "hash of its graph"]
    number: Annotated[Number, "position of the parameter"]
    shape: Annotated[tuple[int, ...], "dimensions"]
    layout: Annotated[tuple[int, ...], "dimensions from minor to major"]
    type: Annotated[str, "element type, as HLO text writes it"]
    op: Annotated[str, "operation that made it, as op_type in operator_trait"]
    sent: Annotated[
        bool, "whether the line sent it to the device; else it is its first use in this graph"
    ]
    site: Site


class SourceLine(
    Fact,
    process=False,
    source="call_sites.json",
    kept=True,
    example="SELECT file, line, text FROM source_line",
):
    """Text of the named lines as they ran."""

    file: Annotated[str, "path"]
    line: Annotated[Number, "line, from 1"]
    text: Annotated[str, "its text"]


class SourceFile(
    Fact, process=False, source="call_sites.json", example="SELECT file, sha256 FROM source_file"
):
    """A file of the program as it ran."""

    file: Annotated[str, "path"]
    sha256: Annotated[str, "hash of its bytes"]


class IgnoreComment(
    Fact,
    process=False,
    source="call_sites.json",
    example="SELECT file, line, text FROM ignore_comment",
):
    """A comment that asks to ignore findings."""

    file: Annotated[str, "path"]
    line: Annotated[Number, "line that it is in, from 1"]
    first_line: Annotated[Number, Recorded("first"), "first line that it is about"]
    last_line: Annotated[Number, Recorded("last"), "last line that it is about"]
    text: Annotated[str, "its text"]


class Recompilation(
    Fact,
    source="derived",
    files=("steps.jsonl", "analysis*.log", "modules*.xplane.pb", "*.xplane.pb"),
    example="SELECT index, kind, was, now, file, line FROM recompilation",
    kept=True,
):
    """Why a call site compiled again: its graph against the most similar one that it compiled
    before.
    """

    index: Annotated[Number, "number of the compilation"]
    against: Annotated[Number, "number of the earlier compilation"]
    kind: Annotated[
        str, "as in docs/recompilation.md: input_shape, constant, operations, evicted, …"
    ]
    basis: Annotated[
        str, "key or hlo (two compared), upload (a new shape sent in that step), log, hash"
    ]
    parameter: Annotated[Number, "entry parameter that changed"]
    was: Annotated[str, "what it was: type and dimensions, a number, an instruction, a count"]
    now: Annotated[str, "what it is"]
    dimension: Annotated[Number, "first dimension that differs"]
    value: Annotated[int, "its size in this graph"]
    op: Annotated[str, "framework operation that differs; for placement, what differs"]
    role: Annotated[str, "made, or used: where a tensor that existed before is first used"]
    file: Annotated[str, "file of the line that makes the difference"]
    line: Annotated[Number, "that line"]
    function: Annotated[str, "function that it is in"]
    user_file: Annotated[str, "path of the user's line that led there, if that one is a library's"]
    user_line: Annotated[Number, "that line"]
    user_function: Annotated[str, "function that it is in"]
    pattern: Annotated[str, "grows, last_batch or varies: how the sizes or counts develop"]
    seen: Annotated[Number, "sizes seen in that dimension"]
    possible: Annotated[Number, "sizes in their range, at the steps between them"]
    used_file: Annotated[
        str, "path of the line that first uses what the line above made a step before"
    ]
    used_line: Annotated[Number, "that line"]
    used_function: Annotated[str, "function that it is in"]
    argument: Annotated[str, "path of the argument that differs, as batch['x']"]
    hint: Annotated[str, "what the compiler suggests, if anything"]


class GraphChange(
    Fact,
    source="derived",
    files=MODULE_FILES,
    example="SELECT index, nature, op, file, line FROM graph_change WHERE nth = 0",
):
    """An operation of a Python line that differs between a compilation and the one it is
    compared with, in the order of lowering.
    """

    index: Annotated[Number, "number of the compilation"]
    nth: Annotated[Number, "order, from 0"]
    nature: Annotated[str, "added, removed, value (another number), shape, or count"]
    file: Annotated[str, "file"]
    line: Annotated[Number, "line"]
    function: Annotated[str, "function that the line is in"]
    user_file: Annotated[str, "path of the user's line that led there, if that one is a library's"]
    user_line: Annotated[Number, "that line"]
    user_function: Annotated[str, "function that it is in"]
    op: Annotated[str, "framework operation, as op in operator_trait"]
    was: Annotated[str, "instructions only in the earlier graph, one per line"]
    now: Annotated[str, "instructions only in this one"]
    was_count: Annotated[Number, "how many there are in the earlier graph"]
    now_count: Annotated[Number, "and in this one"]
