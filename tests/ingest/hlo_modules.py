"""A compiled module built from the messages that it is read with, and what is read of it."""

from __future__ import annotations

from typing import Any

from tests.support import Row, rows
from xladoctor.ingest import hlo
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.hlo.element_types import NAMES
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.protobuf_schema import message

TYPES = {name: number for number, name in NAMES.items()}
F32, BF16 = TYPES["f32"], TYPES["bf16"]


def module(*, frames: bool = True) -> Any:
    """Parameters 0 (made at data.py:88 in load, from train.py:41) and 1, and their sum."""
    proto = message("HloProto")()
    proto.hlo_module.name, proto.hlo_module.entry_computation_id = "SyncTensorsGraph.7", 5
    helper = proto.hlo_module.computations.add(id=4, name="fused")
    helper.instructions.add(opcode="parameter", name="of_another_computation")
    entry = proto.hlo_module.computations.add(id=5, name="main")
    first = entry.instructions.add(opcode="parameter", name="p0", id=1)
    first.shape.element_type = F32
    first.shape.dimensions.extend((16, 64))
    first.shape.layout.minor_to_major.extend((0, 1))
    first.metadata.op_type, first.metadata.op_name = "xla__device_data", "step/data"
    second = entry.instructions.add(opcode="parameter", parameter_number=1, name="p1", id=2)
    second.shape.element_type = BF16
    total = entry.instructions.add(opcode="add", name="add.3", id=3, operand_ids=(1, 2))
    total.shape.element_type = TYPES["tuple"]
    if frames:
        first.metadata.stack_frame_id = 2
        index = proto.hlo_module.stack_frame_index
        index.file_names.extend(("/home/ada/train.py", "/home/ada/data.py"))
        index.function_names.extend(("train", "load"))
        index.file_locations.add(file_name_id=1, function_name_id=1, line=41)
        index.file_locations.add(file_name_id=2, function_name_id=2, line=88)
        index.stack_frames.add(file_location_id=1, parent_frame_id=0)
        index.stack_frames.add(file_location_id=2, parent_frame_id=1)
    return proto


def of_first(proto: Any) -> Any:
    """The OpMetadata of parameter 0."""
    return proto.hlo_module.computations[1].instructions[0].metadata


def read(proto: Any, folders: Folders | None = None) -> dict[str, list[Row]]:
    ingested = Ingested()
    data = proto if isinstance(proto, bytes) else proto.SerializeToString()
    hlo.read_module(data, 7, "cafe", folders or Folders(), ingested.of(3))
    return {name: rows(columns) for name, columns in ingested.tables.items()}
