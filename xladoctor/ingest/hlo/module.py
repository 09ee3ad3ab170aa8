"""Decodes one compiled module into rows: for it, each instruction, entry parameter, frame, buffer
at its peak, and what devices send one another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from xladoctor.facts import TABLES
from xladoctor.ingest.frames import NOWHERE, Folders, Line
from xladoctor.ingest.hlo import attributes, literal
from xladoctor.ingest.hlo.buffers import Held, held_at_peak
from xladoctor.ingest.hlo.element_types import NAMES
from xladoctor.ingest.hlo.groups import Mesh
from xladoctor.ingest.hlo.partitioned import Partitioned, devices_of
from xladoctor.ingest.hlo.stacks import Stacks
from xladoctor.ingest.interface import Columns, ProcessRows
from xladoctor.ingest.protobuf_schema import message

_SITE = tuple(NOWHERE.columns())
#: Columns of ``hlo_instruction`` that are the same in all rows of a module.
_OF_MODULE = ("process", "position", "program_id", "graph_hash")
#: What :func:`_row` returns: the other columns, and ``sent`` of ``hlo_parameter``.
_COLUMNS = (
    *(name for name in TABLES["hlo_instruction"].columns if name not in _OF_MODULE),
    "sent",
)


#: Columns of ``memory_buffer``, and those that are of the instruction that fills it.
_OF_BUFFER = ("role", "bytes", "count", "reused")
_OF_INSTRUCTION = ("number", "instruction", "opcode", "type", "shape", "op_name", *_SITE)


@dataclass(slots=True)
class Module:
    """One decoded module.

    Attributes:
        program: its number in the process: modules are numbered in the order they were made.
        described: the other columns of ``hlo_module``.
        instructions: columns of ``hlo_instruction``, and ``sent``.
        frames: columns of ``hlo_frame``.
        inputs: number of parameters of the entry computation.
        outputs: number of its results; None if its root does not list them.
        buffers: what it holds in memory at its peak.
        partitioned: how it is divided over devices.
    """

    program: int
    described: dict[str, Any]
    instructions: Columns
    frames: Columns
    inputs: int
    outputs: int | None
    buffers: tuple[Held, ...] = ()
    partitioned: Partitioned = field(default_factory=Partitioned)

    def add(self, graph_hash: str | None, rows: ProcessRows) -> None:
        """Append it to ``hlo_module``, ``hlo_instruction``, ``hlo_parameter``, ``hlo_frame``."""
        origin = {"program_id": self.program}
        hashed = {**origin, "graph_hash": graph_hash}
        rows.add("hlo_module", **hashed, **self.described)
        rows.extend("hlo_parameter", _with(hashed, _parameters(self.instructions)))
        shown = {name: values for name, values in self.instructions.items() if name != "sent"}
        rows.extend("hlo_instruction", _with(hashed, shown))
        rows.extend("hlo_frame", _with(origin, self.frames))
        if self.buffers:  # else it does not say
            rows.extend("memory_buffer", _with(origin, self.held()))
        rows.table("placement", "communication")
        for table, found in self.partitioned.rows():
            rows.add(table, **origin, **found)

    def held(self) -> Columns:
        """The columns of ``memory_buffer``; lines are known once the module's are."""
        columns = self.instructions
        row_of = {number: row for row, number in enumerate(columns["id"])}
        rows = [row_of.get(each.instruction or -1) for each in self.buffers]
        source = {"instruction": "name", "number": "parameter"}
        found = {name: [getattr(each, name) for each in self.buffers] for name in _OF_BUFFER}
        for name in _OF_INSTRUCTION:
            values = columns[source.get(name, name)]
            found[name] = [None if row is None else values[row] for row in rows]
        operations = columns["op_type"]  # which some frameworks give arguments in place of a path
        found["op_name"] = [
            None if row is not None and role == "argument" and name == operations[row] else name
            for row, role, name in zip(rows, found["role"], found["op_name"], strict=True)
        ]
        return found

    def traced_lines(self) -> set[Line]:
        """Lines of instructions, and of frames that call no other: of the operations themselves."""
        frames, instructions = self.frames, self.instructions
        own = zip(instructions["file"], instructions["line"], strict=True)
        places = zip(frames["frame"], frames["file"], frames["line"], strict=True)
        callers = set(frames["parent"])
        return {*own, *((file, line) for frame, file, line in places if frame not in callers)}


def decode(
    proto: bytes, program: int, folders: Folders, meshes: Sequence[Mesh] = (), in_place: bool = True
) -> Module:
    """Decode one module.

    Args:
        proto: serialized HloProto.
        program: number of the program in the process.
        folders: where the program's Python keeps its modules, to recognise the user's frames.
        meshes: of the program, as modules of older compilers do not name the axes of theirs.
        in_place: whether the lines of a module of several devices are right; else it gets none.

    Raises:
        DecodeError: it is not an HloProto.
    """
    whole = message("HloProto").FromString(proto)
    module = whole.hlo_module
    if not in_place and devices_of(module) > 1:
        module.ClearField("stack_frame_index")
    stacks = Stacks(module.stack_frame_index, folders)
    instructions = _instructions(module, stacks)
    held = held_at_peak(whole.buffer_assignment, module)
    partitioned = Partitioned.of(module, stacks, meshes)
    described = {
        "name": module.name,
        "instructions": len(instructions["id"]),
        "donated": _numbers(*module.input_output_alias.entries, *module.buffer_donor.entries),
        "aliased": _numbers(*module.input_output_alias.entries),
        "devices": _devices(module.device_assignment),
        "sharding": _sharding(module),
        "partitions": partitioned.count,
        "mesh": ", ".join(f"{axis}={size}" for axis, size in partitioned.mesh.items()) or None,
        "memory_bytes": sum(each.bytes for each in held) or None,
    }
    return Module(
        program,
        described,
        instructions,
        stacks.columns(),
        _inputs(instructions),
        _outputs(instructions),
        tuple(held),
        partitioned,
    )


def read_module(
    proto: bytes, program: int, graph_hash: str | None, folders: Folders, rows: ProcessRows
) -> set[Line]:
    """Decode one module and append it; if it cannot be decoded, add only a note.

    Returns:
        the lines of its operations.
    """
    try:
        module = decode(proto, program, folders)
    except DecodeError as error:
        rows.notes.append(f"module {program} of process {rows.process}: unreadable HLO ({error})")
        return set()
    module.add(graph_hash, rows)
    return module.traced_lines()


def _inputs(instructions: Columns) -> int:
    entry, numbers = instructions["entry"], instructions["parameter"]
    return sum(inside and n is not None for inside, n in zip(entry, numbers, strict=True))


def _outputs(instructions: Columns) -> int | None:
    for entry, root, opcode, operands in zip(
        *(instructions[name] for name in ("entry", "root", "opcode", "operands")), strict=True
    ):
        if entry and root:
            return len(operands) if opcode == "tuple" else None
    return None


def _with(constant: dict[str, Any], columns: Columns) -> Columns:
    """The columns, with more that have the same value in each row."""
    count = len(next(iter(columns.values())))
    return {**{name: [value] * count for name, value in constant.items()}, **columns}


def _instructions(module: Any, stacks: Stacks) -> Columns:
    rows = [
        _row(instruction, name, entry, root, stacks)
        for computation in module.computations
        for name, entry, root in [
            (computation.name, computation.id == module.entry_computation_id, computation.root_id)
        ]
        for instruction in computation.instructions
    ]
    return {name: [row[index] for row in rows] for index, name in enumerate(_COLUMNS)}


def _row(
    instruction: Any, computation: str, entry: bool, root: int, stacks: Stacks
) -> tuple[Any, ...]:
    """One instruction. Reads each field once, and by slices: access takes most of the time."""
    opcode, shape, metadata = instruction.opcode, instruction.shape, instruction.metadata
    frame, site, sent = stacks.origin(metadata)
    type_, number = shape.element_type, instruction.id
    return (
        computation,
        entry,
        number == root,
        number,
        instruction.name,
        opcode,
        NAMES.get(type_) or str(type_),
        shape.dimensions[:],
        shape.layout.minor_to_major[:],
        instruction.operand_ids[:],
        instruction.parameter_number if opcode == "parameter" else None,
        literal.text(instruction.literal) if opcode == "constant" else None,
        attributes.text(instruction),
        metadata.op_type or None,
        metadata.op_name or None,
        frame,
        *site,
        sent,
    )


def _numbers(*entries: Any) -> list[int]:
    """The parameters that entries are about."""
    return sorted({entry.parameter_number for entry in entries})


def _devices(assignment: Any) -> list[int]:
    """The devices that the module was compiled for."""
    return [
        device for column in assignment.computation_devices for device in column.replica_device_ids
    ]


def _sharding(module: Any) -> str | None:
    """A key that identifies the shardings of parameters and results; None without any."""
    shardings = [*module.spmd_parameters_shardings, module.spmd_output_sharding]
    if not any(shardings):
        return None
    return hashlib.sha256(b"\0".join(shardings)).hexdigest()[:8]


def _parameters(instructions: Columns) -> Columns:
    """The columns of ``hlo_parameter`` of the entry computation's parameters."""
    chosen = [
        row
        for row, (entry, number) in enumerate(
            zip(instructions["entry"], instructions["parameter"], strict=True)
        )
        if entry and number is not None
    ]
    source = {"number": "parameter", "op": "op_type"}
    columns = ("number", "shape", "layout", "type", "op", "sent", *_SITE)
    return {name: [instructions[source.get(name, name)][row] for row in chosen] for name in columns}
