"""Samples of what is declared: records, models of settings, messages of protobuf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.hostile.near_matches import matching
from xladoctor.ingest import run_records
from xladoctor.ingest.protobuf_schema import message

_INT_EDGES = {
    "int64": (-(2**63), -1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1),
    "uint64": (0, 1, 2**31, 2**63, 2**64 - 1),
    "int32": (-(2**31), -1, 0, 1, 2**31 - 1),
    "uint32": (0, 1, 2**32 - 1),
}


def records() -> Iterator[tuple[str, Any]]:
    """Each kind of record of a run directory, with all its fields, and the path of its file."""
    whole = run_records.schema()
    for pattern in run_records.FILES:
        root = whole["files"][pattern.rpartition("/")[2]]
        for kind in root.get("anyOf", [root]):
            record = sample(kind, whole)
            if "frontend" in record:
                record["frontend"] = "torch_xla"
            yield pattern.replace("*", "1"), record


def manifest() -> bytes:
    """A manifest without a list of files, as of a run whose launcher was killed."""
    return msgspec.json.encode(run_records.Manifest(command=["x.py"], began_ns=10**18))


def sample(schema: dict[str, Any], whole: dict[str, Any] | None = None) -> Any:
    """A value that a JSON Schema allows, with all optional keys; lists have two items.

    Args:
        whole: the document that has the definitions; by default the schema itself.
    """
    whole = whole or schema
    if "$ref" in schema:
        return sample(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
    if "anyOf" in schema:
        return sample(schema["anyOf"][0], whole)
    if schema.get("type") == "object":
        named = {name: sample(each, whole) for name, each in schema.get("properties", {}).items()}
        more = schema.get("additionalProperties")
        return named | ({"x": sample(more, whole)} if isinstance(more, dict) else {})
    if schema.get("type") == "array":
        items = schema.get("prefixItems", [schema["items"]] * 2 if schema.get("items") else [])
        return [sample(each, whole) for each in items[: schema.get("maxItems")]]
    return _plain(schema)


def _plain(schema: dict[str, Any]) -> Any:
    """A value that is neither a list nor an object."""
    for allowed in ("enum", "examples"):
        if allowed in schema:
            return schema[allowed][0]
    usual = {"integer": 1, "number": 1.5, "boolean": True, "null": None}
    text = matching(schema["pattern"]) if "pattern" in schema else "x" * schema.get("minLength", 1)
    return schema.get("const", usual.get(schema.get("type", ""), text))


def messages(whole: Any) -> Iterator[tuple[str, Any]]:
    """Copies of a message, each with one field of it or of a message in it replaced; of each kind
    of field the first two places that have it, and the first that lacks it.
    """
    seen: dict[str, int] = {}
    for holder, each, path in _fields(whole, ""):
        if seen.setdefault(path, 0) < 2:
            seen[path] += 1
            known = type(holder)()
            known.CopyFrom(holder)
            for what in _replaced(holder, each):
                yield f"{path} {what}", whole
                holder.CopyFrom(known)


def _fields(holder: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    for each in holder.DESCRIPTOR.fields:
        name = f"{path}.{each.name}"
        yield holder, each, name
        if each.message_type is not None:
            inner = getattr(holder, each.name)
            items = inner if _repeated(inner) else [inner] if holder.HasField(each.name) else []
            for item in items:
                yield from _fields(item, f"{name}[{_called(item)}]")


def _called(item: Any) -> str:
    """What tells an item from others of its type: a stat's metadata, an instruction's operation."""
    names = ("opcode", "metadata_id") if item.DESCRIPTOR.name != "XEvent" else ()
    return next((str(value) for name in names if (value := getattr(item, name, None))), "")


def _repeated(value: Any) -> bool:
    return hasattr(value, "extend")


def _replaced(holder: Any, each: Any) -> Iterator[str]:
    """What a field was replaced by, each time that it was."""
    for value in _values(each):
        if _repeated(held := getattr(holder, each.name)):
            for many in (1, 2_000):
                del held[:]
                held.extend([value] * many)
                yield f"{value!r:.20} {many} times"
        elif each.message_type is not None:
            getattr(holder, each.name).CopyFrom(value)
            yield "empty"
        else:
            setattr(holder, each.name, value)
            yield f"{value!r:.20}"
    holder.ClearField(each.name)
    yield "missing"


def _values(each: Any) -> tuple[Any, ...]:
    if each.message_type is not None:
        return (message(each.message_type.name)(),)
    kind = next(name for name, number in _types(each).items() if number == each.type)
    if kind in _INT_EDGES:
        return _INT_EDGES[kind]
    if kind in ("double", "float"):
        return (float("nan"), float("inf"), -1.0, 1e38, 2.0**63)
    if kind == "string":
        return ("", "x" * 50_000, "\x00", "\x1b]0;t\x07", "\u00b2", "\u202e", "9" * 500)
    return (True, False) if kind == "bool" else (b"", b"\x00" * 1000, b"\xff" * 20)


def _types(each: Any) -> dict[str, int]:
    names = ("double", "float", "int64", "uint64", "int32", "bool", "string", "bytes", "uint32")
    return {name: getattr(each, f"TYPE_{name.upper()}") for name in names}
