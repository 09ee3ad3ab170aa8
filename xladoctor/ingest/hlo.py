"""Compiled modules (``HloProto``): their entry parameters, each with shape and source line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError

from xladoctor.ingest.frames import Folders, Frame
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.protobuf_schema import message

#: ``PrimitiveType`` of ``xla_data.proto``, as HLO text writes it.
_TYPES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64",
    10: "f16", 11: "f32", 12: "f64", 15: "c64", 16: "bf16", 18: "c128", 19: "f8e5m2",
    20: "f8e4m3fn", 21: "s4", 22: "u4",
}  # fmt: skip


def read_module(
    proto: bytes, process: int, program: int, graph_hash: str | None, folders: Folders,
    ingested: Ingested,
) -> None:  # fmt: skip
    """Append one module to ``hlo_module`` and its entry parameters to ``hlo_parameter``."""
    try:
        module = message("HloProto").FromString(proto).hlo_module
    except DecodeError as error:
        ingested.notes.append(f"module {program} of process {process}: unreadable HLO ({error})")
        return
    ingested.add(
        "hlo_module", process=process, program_id=program, name=module.name, graph_hash=graph_hash,
        instructions=sum(len(computation.instructions) for computation in module.computations),
    )  # fmt: skip
    ingested.table("hlo_parameter")
    for instruction in _entry_parameters(module):
        metadata = instruction.metadata
        stack = list(_stack(module.stack_frame_index, metadata))
        site = folders.locate(stack)
        sent = any("/_xladoctor/adapter.py" in frame.file for frame in stack)
        ingested.add(
            "hlo_parameter", process=process, program_id=program, graph_hash=graph_hash,
            number=instruction.parameter_number, shape=list(instruction.shape.dimensions),
            type=_TYPES.get(instruction.shape.element_type, str(instruction.shape.element_type)),
            op=metadata.op_type,
            sent=sent, **site.columns(),
        )  # fmt: skip


def _entry_parameters(module: Any) -> list[Any]:
    entry = [c for c in module.computations if c.id == module.entry_computation_id]
    return [i for c in entry for i in c.instructions if i.opcode == "parameter"]


def _stack(index: Any, metadata: Any) -> Iterator[Frame]:
    """The Python stack of an instruction, innermost frame first; ids count from 1, 0 is none."""
    number, depth = metadata.stack_frame_id, 0
    if not number and metadata.source_file:
        yield Frame(metadata.source_file, metadata.source_line, "")
    while 0 < number <= len(index.stack_frames) and depth < 1000:
        frame = index.stack_frames[number - 1]
        if not 0 < frame.file_location_id <= len(index.file_locations):
            return
        place = index.file_locations[frame.file_location_id - 1]
        if not 0 < place.file_name_id <= len(index.file_names):
            return
        known = 0 < place.function_name_id <= len(index.function_names)
        function = index.function_names[place.function_name_id - 1] if known else ""
        yield Frame(index.file_names[place.file_name_id - 1], place.line, function)
        number, depth = frame.parent_frame_id, depth + 1
