"""Recognises graphs by their content: StableHLO, HLO, and functions that ``jax.export`` wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from google.protobuf.message import DecodeError

from xladoctor.ingest.protobuf_schema import message

Form = Literal["stablehlo", "hlo_proto", "hlo_text", "jax_export"]
_BYTECODE = b"ML\xefR"
#: A flatbuffer of ``jax.export`` has its module in it, behind a table of some hundred bytes.
_EXPORT_HEAD = 1 << 16
_MODULE = re.compile(rb"^\s*(?:builtin\.)?module(?: @(\"[^\"\n]*\"|[\w.$-]+))?", re.MULTILINE)
_DIALECT = re.compile(rb"\b(?:stablehlo|mhlo|chlo|vhlo|func)\.\w")
_REPLICAS, _PARTITIONS = (
    re.compile(rb"mhlo\.num_" + name + rb" = (\d{1,6}) : i32")
    for name in (b"replicas", b"partitions")
)
_HLO = re.compile(rb"\s*HloModule ([^\s,{]+)([^\n]*)")
_REPLICA_COUNT = re.compile(rb"\breplica_count=(\d{1,6})")
_NUM_PARTITIONS = re.compile(rb"\bnum_partitions=(\d{1,6})")
_OPERATION = re.compile(rb"^\s*%", re.MULTILINE)
_INSTRUCTION = re.compile(rb"^\s+(?:ROOT )?%?[\w.-]+ = ", re.MULTILINE)
#: What compilers add: instructions that no graph before optimization has.
_ADDED = frozenset(("fusion", "bitcast", "copy-start", "async-start"))


@dataclass(frozen=True, slots=True)
class Recognised:
    """What the content of a graph shows.

    Attributes:
        form: how it is written.
        content: as the compiler's interpreter reads it; an HloProto becomes the module in it.
        name: of the module; None if only MLIR could read it.
        operations: likewise.
        replicas: how many devices run it with inputs of their own; None if it does not say.
        partitions: how many devices share its arrays; None if it does not say.
        optimized: whether a compiler has optimized it.
    """

    form: Form
    content: bytes
    name: str | None = None
    operations: int | None = None
    replicas: int | None = None
    partitions: int | None = None
    optimized: bool = False


def recognise(content: bytes) -> Recognised | None:
    """The graph in the content of a file; None if it is none."""
    if content.startswith(_BYTECODE):
        return Recognised("stablehlo", content)
    if match := _HLO.match(content[:_EXPORT_HEAD]):
        return _hlo_text(content, match)
    if b"\0" not in content[:_EXPORT_HEAD] and (module := _MODULE.search(content)):
        return _mlir(content, module) if _DIALECT.search(content) else None
    if _is_export(content):
        return Recognised("jax_export", content)
    return _proto(content)


def _text(name: bytes | None) -> str | None:
    return name.decode("utf-8", "replace").strip('"') or None if name else None


def _mlir(content: bytes, module: re.Match[bytes]) -> Recognised:
    return Recognised(
        "stablehlo",
        content,
        _text(module[1]),
        len(_OPERATION.findall(content)),
        _number(_REPLICAS.search(content)),
        _number(_PARTITIONS.search(content)),
    )


def _hlo_text(content: bytes, match: re.Match[bytes]) -> Recognised:
    return Recognised(
        "hlo_text",
        content,
        _text(match[1]),
        len(_INSTRUCTION.findall(content)),
        _number(_REPLICA_COUNT.search(match[2])),
        _number(_NUM_PARTITIONS.search(match[2])),
        b"is_scheduled=true" in match[2],
    )


def _number(match: re.Match[bytes] | None) -> int | None:
    return (int(match[1]) or None) if match else None


def _is_export(content: bytes) -> bool:
    """Whether it is a flatbuffer with a module of MLIR in it."""
    root = int.from_bytes(content[:4], "little")
    return 4 <= root < len(content) and _BYTECODE in content


def _proto(content: bytes) -> Recognised | None:
    module = _module(content)
    if module is None:
        return None
    opcodes = [each.opcode for part in module.computations for each in part.instructions]
    if not opcodes or not all(opcodes):
        return None
    assignment = module.device_assignment
    return Recognised(
        "hlo_proto",
        module.SerializeToString(),
        module.name or None,
        len(opcodes),
        max(0, assignment.replica_count) or None,
        max(0, assignment.computation_count) or None,
        bool(module.schedule) or not _ADDED.isdisjoint(opcodes),
    )


def _module(content: bytes) -> Any:
    """The module of an HloProto, or of the module alone; None if it is neither."""
    for name in ("HloProto", "HloModuleProto"):
        try:
            found = message(name).FromString(content)
        except DecodeError:
            continue
        module = found.hlo_module if name == "HloProto" else found
        if module.computations:
            return module
    return None
