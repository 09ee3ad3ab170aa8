"""The rows that records of facts are in their tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_origin

from xladoctor.facts.table import fields
from xladoctor.recording.bootstrap._xladoctor.facts import Fact

if TYPE_CHECKING:
    from xladoctor.ingest.call_sites import CallSites

_HLO_TYPES = {
    "bool": "pred",
    "uint8": "u8",
    "int8": "s8",
    "int16": "s16",
    "int32": "s32",
    "int64": "s64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}


def row(record: Fact, fact: type[Fact], sites: CallSites | None = None) -> dict[str, Any]:
    """The columns that a record has of the table of its fact; its call site as a number, ``site``.

    Args:
        sites: of its process, if the fact names functions.
    """
    known: Any = fact
    names, values_of, others = _recorded(known)
    columns: dict[str, Any] = dict(zip(names, values_of(record), strict=True))
    for name, role in others:
        value = getattr(record, name)
        if role == "function" and sites is not None:
            defined = sites[value]
            columns[f"{name}_file"] = defined.file
            columns[f"{name}_line"] = defined.line
            columns[f"{name}_function"] = defined.function
            continue
        if role == "element type":
            value = _HLO_TYPES.get(value, value)
        elif role == "flag":
            value = bool(value)
        elif role == "count":
            value = len(value)
        elif role == "net":
            value = max(0, value - getattr(record, "compile_ns"))  # noqa: B009 - of some facts
        elif isinstance(value, tuple):
            value = _listed(value)
        columns[name] = value
    return columns


def located_row(record: Fact, fact: type[Fact], sites: CallSites) -> dict[str, Any]:
    """The same with the columns of its call site."""
    columns = row(record, fact, sites)
    return columns | sites[columns.pop("site")].columns()


def as_hlo(text: str) -> str:
    """The type of an argument as HLO text writes it: ``float32[8,64]`` is ``f32[8,64]``."""
    dtype, bracket, sizes = text.partition("[")
    return f"{_HLO_TYPES[dtype]}[{sizes}" if bracket and dtype in _HLO_TYPES else text


@cache
def _recorded(
    fact: Any,
) -> tuple[list[str], Callable[[Fact], tuple[Any, ...]], list[tuple[str, str]]]:
    """The fields that records and the table have alike, what gets their values; then the fields
    that the table has in another form, and their roles.
    """
    both = [field for field in fields(fact) if not field.derived and not field.recorded.only]
    others = [
        (field.name, field.kind.role)
        for field in both
        if field.kind.role not in ("", "site") or get_origin(field.type) is tuple
    ]
    names = [field.name for field in both if (field.name, field.kind.role) not in others]
    if len(names) < 2:  # of one, it gets no tuple
        return [], lambda _: (), [(field.name, field.kind.role) for field in both]
    return names, attrgetter(*names), others


@lru_cache(4096)
def _listed(values: tuple[Any, ...]) -> list[Any]:
    return list(values)  # shapes repeat
