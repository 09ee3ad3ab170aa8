"""Protobuf messages described in text, without generated code.

Only the fields that are used are named; protobuf keeps the others as unknown fields. Each set of
messages is in a descriptor pool of its own, so that TensorFlow's or XProf's copies of the same
messages do not collide, and independent of the protobuf release that is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "xladoctor.wire"
_SCALARS = {
    "double": 1,
    "float": 2,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "bool": 8,
    "string": 9,
    "bytes": 12,
    "uint32": 13,
}
_OPTIONAL, _REPEATED, _MESSAGE = 1, 3, 11


def described(messages: Mapping[str, str]) -> Callable[[str], Any]:
    """A function from the name of a message to its class.

    Args:
        messages: message -> its fields, ``"name number type"`` each, between commas; a star after
            the type marks repeated fields; a type that is not a scalar is another message.
    """
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file(messages))

    @cache
    def message(name: str) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))

    return message


def _file(messages: Mapping[str, str]) -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="xladoctor_wire.proto", package=_PACKAGE, syntax="proto3"
    )
    for message_name, fields in messages.items():
        added = file.message_type.add(name=message_name)
        for field in fields.split(","):
            _add_field(added, *field.split())
    return file


def _add_field(message: Any, name: str, number: str, kind: str) -> None:
    label = _REPEATED if kind.endswith("*") else _OPTIONAL
    kind = kind.rstrip("*")
    field = message.field.add(name=name, number=int(number), label=label)
    field.type = _SCALARS.get(kind, _MESSAGE)
    if kind not in _SCALARS:
        field.type_name = f".{_PACKAGE}.{kind}"
