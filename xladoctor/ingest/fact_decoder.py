"""The types that decode and check the lines of facts, made from the classes that declare them."""

from __future__ import annotations

from functools import cache
from types import NoneType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from xladoctor.facts.table import fields
from xladoctor.recording.bootstrap._xladoctor.facts import Fact, Kind

_F = TypeVar("_F", bound=Fact)


def decoded(fact: type[_F]) -> type[_F]:
    """The type of a fact's lines as msgspec decodes them, with the attributes of the class."""
    known: Any = fact
    kind: type[_F] = _decoded(known)
    return kind


@cache
def _decoded(fact: Any) -> Any:
    usual, about = vars(fact), fact.about
    recorded = [field for field in fields(fact) if not field.derived]
    if about.listed:
        recorded.sort(key=lambda field: field.kind.role != "site")
    return msgspec.defstruct(
        fact.__name__,
        [
            (name, _checked(fact.__annotations__[name]), *([usual[name]] if name in usual else []))
            for name in (field.name for field in recorded)
        ],
        bases=tuple(_decoded(base) for base in fact.__bases__ if base is not Fact) or None,
        rename={field.name: key for field in recorded if (key := field.recorded.key)},
        frozen=True,
        kw_only=not about.listed,
        array_like=about.listed,
        forbid_unknown_fields=about.listed,
        tag_field="event" if about.event else None,
        tag=about.event or None,
        namespace={"__doc__": fact.__doc__},
    )


def _checked(annotation: Any) -> Any:
    """A type with the bounds of its kinds, and what it means, as msgspec has them."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        base, *said = parts
        kind = next((each for each in said if isinstance(each, Kind)), Kind())
        meanings = [] if kind.role == "net" else [each for each in said if isinstance(each, str)]
        text = next(iter(meanings), kind.text)
        return _with(_checked(base), kind, text)
    if NoneType in parts:
        return Union[tuple(map(_checked, parts))]  # noqa: UP007 - of types that are made here
    if origin is None and Fact in getattr(annotation, "__mro__", ()):
        return _decoded(annotation)
    return origin[tuple(map(_checked, parts))] if parts else annotation


def _with(base: Any, kind: Kind, text: str) -> Any:
    said: dict[str, Any] = {"description": text} if text else {}
    if kind.least is not None:
        said["ge"] = kind.least
    if kind.most is not None:
        said["max_length" if get_origin(base) is tuple else "le"] = kind.most
    return Annotated[base, Meta(**said)] if said else base
