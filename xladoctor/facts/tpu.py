"""What the compiler of TPUs decided about graphs; see ``xladoctor/tpu_check``."""

from typing import Annotated

from xladoctor.recording.bootstrap._xladoctor.facts import (
    Duration,
    Fact,
    Number,
    Position,
    Size,
    derived,
)

_Graph = Annotated[Number, "number of the graph in this check, from 0"]
_Topology = Annotated[str, "TPU that it was compiled for, as it was asked for: v5e"]
#: A line, as ``NamedLine`` of ``table.py`` has it.
_File = Annotated[str | None, "path of the named line, where known"]
_Line = Annotated[Number | None, "the named line, from 1"]
_Function = Annotated[str | None, "function that the named line is in"]
_UserFile = Annotated[
    str | None, "path of the user's line that led there, where the named one is a library's"
]
_UserLine = Annotated[Number | None, "that line"]
_UserFunction = Annotated[str | None, "function that it is in"]


class _Decided(Fact, process=False, source="tpu-check.json"): ...


class TpuGraph(
    _Decided,
    example="SELECT name, compiled_for, verdict, peak_bytes / available_bytes AS share FROM"
    " tpu_graph",
):
    """A graph that was compiled for a TPU, without one."""

    position: Position = derived()
    graph: _Graph
    topology: _Topology
    compiled_for: Annotated[str, "the same with its shape: v5e:2x2"]
    name: Annotated[str, "name of the graph"]
    source: Annotated[str, "file that it was read from"]
    role: Annotated[str, "its part in the program, where that is known"] = ""
    verdict: Annotated[
        str,
        "fits, does_not_fit, unknown (so near the limit that another release may decide otherwise),"
        " or refused: it cannot be compiled",
    ]
    reason: Annotated[str, "why that is not known, or what to know about it"] = ""
    hint: Annotated[str, "what to do about that"] = ""
    devices: Annotated[Number, "devices that run it"] = 1
    operations: Annotated[Size, "operations before optimization"] = 0
    launches: Annotated[Size | None, "how often it ran, where that is known"] = None
    available_bytes: Annotated[Size | None, "memory of a device that programs can have"] = None
    least_bytes: Annotated[
        Size | None, "that a device must hold, found before compiling: a lower bound"
    ] = None
    least_parts: Annotated[str, "what that is made of"] = ""
    stage: Annotated[
        str,
        "how far the compiler went: bound (not at all), plan (of memory), or code (to its end)",
    ] = "code"
    peak_bytes: Annotated[Size | None, "that a device needs at most, as the compiler counts"] = None
    needed_bytes: Annotated[Size | None, "the same of a graph that does not fit"] = None
    argument_bytes: Annotated[Size | None, "of arguments, with padding"] = None
    result_bytes: Annotated[Size | None, "of results, with padding"] = None
    aliased_bytes: Annotated[Size | None, "of results in the place of arguments"] = None
    temporary_bytes: Annotated[Size | None, "of all in between"] = None
    written_bytes: Annotated[
        Size | None, "that a run writes, without padding and transfers between memories"
    ] = None
    padding_bytes: Annotated[Size | None, "that a run writes to fill tiles"] = None
    unknown_layouts: Annotated[Size, "arrays whose layout is not understood"] = 0
    compile_ns: Annotated[Duration, "what compiling took"] = 0
    processor_ns: Annotated[Duration, "processor time of that and of reading the graph"] = 0
    cached: Annotated[bool, "whether it had been compiled earlier"] = False
    compiler: Annotated[str, "packages and versions that compiled it"] = ""
    flags: Annotated[str, "flags of the compiler, from LIBTPU_INIT_ARGS"] = ""
    recorded: Annotated[str, "versions of such packages in the run that it is from"] = ""
    of_job: Annotated[
        bool, "whether the job is known to have this compiler: by those, or as the user says"
    ] = False


class TpuOperation(
    _Decided,
    example="SELECT file, line, sum((padded_bytes - bytes) * times) AS padding FROM tpu_operation"
    " GROUP BY file, line ORDER BY padding DESC",
):
    """Arrays of one kind that an operation outside of fusions writes, in all its runs."""

    position: Position = derived()
    graph: _Graph
    topology: _Topology
    operation: Annotated[str, "name of the operation, or of one of several alike"]
    opcode: Annotated[str, "as in HLO: fusion, copy, copy-done, all-reduce"]
    does: Annotated[
        str,
        "moves (copies, transposes, reshapes), transfers (between memories),"
        " communicates (between devices), or computes",
    ]
    type: Annotated[str, "element type"]
    shape: Annotated[tuple[int, ...], "dimensions"]
    stored: Annotated[tuple[int, ...], "dimensions as they are stored: multiples of the tile's"]
    layout: Annotated[str, "order of dimensions and tiles: {1,0:T(8,128)}"]
    memory: Annotated[str, "hbm, vmem or host; empty for another"]
    bytes: Annotated[Size, "of the elements of one array"]
    padded_bytes: Annotated[Size | None, "the same with tiles filled, where known"] = None
    times: Annotated[Size, "arrays in one run of the graph"] = 1
    operations: Annotated[Size, "operations that write them; 0 for those with more arrays"] = 0
    in_loop: Annotated[bool, "whether it is in a loop of the graph"] = False
    group: Annotated[Size | None, "devices that communicate"] = None
    axes: Annotated[str, "axes of the mesh that they lie along, where known"] = ""
    reason: Annotated[str, "why they do, as in communication"] = ""
    asynchronous: Annotated[bool, "whether others can run beside it"] = False
    op_name: Annotated[str, "the framework's name with scopes"] = ""
    file: _File = None
    line: _Line = None
    function: _Function = None
    user_file: _UserFile = None
    user_line: _UserLine = None
    user_function: _UserFunction = None


class TpuProduct(
    _Decided,
    example="SELECT float32, sum(list_product(shape) * times) FROM tpu_product GROUP BY float32",
):
    """Products (matrix products, convolutions), inside of fusions as well."""

    position: Position = derived()
    graph: _Graph
    topology: _Topology
    float32: Annotated[bool, "whether a factor is in float32"]
    shape: Annotated[tuple[int, ...], "dimensions of the result"]
    times: Annotated[Size, "such products in one run of the graph"] = 1
    op_name: Annotated[str, "the framework's name with scopes"] = ""
    file: _File = None
    line: _Line = None
    function: _Function = None
    user_file: _UserFile = None
    user_line: _UserLine = None
    user_function: _UserFunction = None


class TpuPeakBuffer(
    _Decided,
    example="SELECT role, file, line, sum(bytes) AS bytes FROM tpu_peak_buffer GROUP BY ALL"
    " ORDER BY bytes DESC",
):
    """What the graph holds in a device's main memory at its peak, as memory_buffer has it of
    graphs that ran.
    """

    position: Position = derived()
    graph: _Graph
    topology: _Topology
    role: Annotated[str, "as in memory_buffer"]
    bytes: Annotated[Size, "that it takes"]
    count: Annotated[Number, "buffers"] = 1
    reused: Annotated[bool, "of an argument: whether a result takes its place"] = False
    opcode: Annotated[str | None, "operation that fills it"] = None
    type: Annotated[str | None, "element type"] = None
    shape: Annotated[tuple[int, ...] | None, "dimensions"] = None
    op_name: Annotated[str | None, "the framework's name with scopes; of an argument, its path"] = (
        None
    )
    file: _File = None
    line: _Line = None
    function: _Function = None
    user_file: _UserFile = None
    user_line: _UserLine = None
    user_function: _UserFunction = None


class TpuBuffer(
    _Decided,
    example="SELECT name, bytes, donated FROM tpu_buffer WHERE role = 'argument' ORDER BY bytes"
    " DESC",
):
    """An argument or a result of the graph, on one device."""

    graph: _Graph
    topology: _Topology
    role: Annotated[str, "argument or result"]
    number: Annotated[Number, "its position"]
    name: Annotated[str, "as the program names it, where known"] = ""
    type: Annotated[str, "element type"]
    shape: Annotated[tuple[int, ...], "dimensions"]
    bytes: Annotated[Size, "with padding, where the layout is known"]
    donated: Annotated[bool, "of an argument: whether a result takes its place"] = False
