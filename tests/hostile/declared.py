"""Samples of what is declared: records of msgspec, models of pydantic, messages of protobuf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect
from pydantic import BaseModel

from xladoctor.ingest.protobuf_schema import message
from xladoctor.ingest.run_records import FILES, Manifest

_INT_EDGES = {
    "int64": (-(2**63), -1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1),
    "uint64": (0, 1, 2**31, 2**63, 2**64 - 1),
    "int32": (-(2**31), -1, 0, 1, 2**31 - 1),
    "uint32": (0, 1, 2**32 - 1),
}


def records() -> Iterator[tuple[str, Any]]:
    """Each record of a run directory, with all its fields, and the pattern of its file."""
    for pattern, kind in FILES.items():
        of_kind = inspect.type_info(kind)
        kinds = of_kind.types if isinstance(of_kind, inspect.UnionType) else (of_kind,)
        for each in kinds:
            yield pattern.replace("*", "1"), sample(each)


def manifest() -> bytes:
    """A manifest without a list of files, as of a run whose launcher was killed."""
    return msgspec.json.encode(Manifest(command=["x.py"], began_ns=10**18))


def sample(kind: Any) -> Any:
    """A value of a type, as JSON has it, with all optional fields; lists have two items."""
    if isinstance(kind, inspect.Metadata):
        return sample(kind.type)
    if isinstance(kind, inspect.UnionType):
        return sample(next(each for each in kind.types if not isinstance(each, inspect.NoneType)))
    if isinstance(kind, inspect.StructType):
        return _struct(kind)
    if isinstance(kind, inspect.TupleType):
        return [sample(each) for each in kind.item_types]
    if isinstance(kind, inspect.ListType | inspect.VarTupleType):
        return [sample(kind.item_type)] * min(2, kind.max_length or 2)
    if isinstance(kind, inspect.DictType):
        return {"x": sample(kind.value_type)}
    if isinstance(kind, inspect.IntType):
        return max(1, kind.ge or 0)
    if isinstance(kind, inspect.FloatType):
        return 1.5
    if isinstance(kind, inspect.BoolType):
        return True
    return kind.values[0] if isinstance(kind, inspect.LiteralType) else "x"


def _struct(kind: inspect.StructType) -> Any:
    values = {each.encode_name: sample(each.type) for each in kind.fields}
    if "frontend" in values:
        values["frontend"] = "torch_xla"
    if kind.array_like:
        return list(values.values())
    return {kind.tag_field: kind.tag, **values} if kind.tag_field else values


def model(kind: type[BaseModel]) -> dict[str, Any]:
    """The defaults of a model, with a value for what has none."""
    return {name: _default(each) for name, each in kind.model_fields.items()}


def _default(each: Any) -> Any:
    default = each.get_default(call_default_factory=True)
    if isinstance(default, BaseModel):
        return model(type(default))
    return default if isinstance(default, str | bool | int | float | list | dict) else 1


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
