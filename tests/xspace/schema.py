"""The messages of an XSpace in full, built at run time: the tests' own copy of the format.

Field numbers and oneofs: ``tsl/profiler/protobuf/xplane.proto`` of OpenXLA. Built by protobuf's own
descriptors and shared with no code under test, so that the two can only agree by being right.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "xspace.reference"
_SCALARS = {"double": 1, "int64": 3, "uint64": 4, "string": 9, "bytes": 12}
_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11

#: message -> "field number type"; a star marks repeated fields, ``oneof.`` members of a oneof.
#: A map is its entries, which is what stands on the wire, so that duplicate keys remain visible.
_MESSAGES = {
    "XSpace": "planes 1 XPlane*, errors 2 string*, warnings 3 string*, hostnames 4 string*",
    "XPlane": "id 1 int64, name 2 string, lines 3 XLine*, event_metadata 4 EventMetadataEntry*,"
    " stat_metadata 5 StatMetadataEntry*, stats 6 XStat*",
    "EventMetadataEntry": "key 1 int64, value 2 XEventMetadata",
    "StatMetadataEntry": "key 1 int64, value 2 XStatMetadata",
    "XLine": "id 1 int64, name 2 string, timestamp_ns 3 int64, events 4 XEvent*,"
    " duration_ps 9 int64, display_id 10 int64, display_name 11 string",
    "XEvent": "metadata_id 1 int64, data.offset_ps 2 int64, data.num_occurrences 5 int64,"
    " duration_ps 3 int64, stats 4 XStat*",
    "XStat": "metadata_id 1 int64, value.double_value 2 double, value.uint64_value 3 uint64,"
    " value.int64_value 4 int64, value.str_value 5 string, value.bytes_value 6 bytes,"
    " value.ref_value 7 uint64, value.compressed_str_value 8 bytes",
    "XEventMetadata": "id 1 int64, name 2 string, metadata 3 bytes, display_name 4 string,"
    " stats 5 XStat*, child_id 6 int64*",
    "XStatMetadata": "id 1 int64, name 2 string, description 3 string",
}


@cache
def message(name: str) -> Any:
    """The message class ``name``, for instance ``XSpace`` or ``XEvent``."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@cache
def _pool() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="xspace_reference.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        described = file.message_type.add(name=name)
        for field in fields.split(","):
            _add(described, *field.split())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add(described: Any, path: str, number: str, kind: str) -> None:
    oneof, _, name = path.rpartition(".")
    field = described.field.add(name=name, number=int(number))
    field.label = _REPEATED if kind.endswith("*") else _OPTIONAL
    kind = kind.rstrip("*")
    field.type = _SCALARS.get(kind, _MESSAGE)
    if kind not in _SCALARS:
        field.type_name = f".{_PACKAGE}.{kind}"
    if oneof:
        if not described.oneof_decl:
            described.oneof_decl.add(name=oneof)
        field.oneof_index = 0
