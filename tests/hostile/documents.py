"""Well-formed files of which each field in turn has a value that it should not have.

A document is made of its format's declaration or of a recorded file. It has one record with the
places of its fields, and what is around that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tests.hostile.limits import Input

_DEEP, _LONG, _MANY, _MOST_BYTES = 5_000, 100_000, 10_000, 1_900_000
NUMBERS = (
    *(str(2**bits + more) for bits in (31, 53, 63, 64) for more in (-1, 1)),
    *("0", "-1", str(-(2**63) - 1), f"1{'0' * 400}", "9" * 5_000),
    *("0.5", "1e308", "-1e308", "1e400", "1e-400", "NaN", "Infinity", "-Infinity"),
)
_TEXTS = (
    *("", "\u00b2", "\u0663", "x" * _LONG, "/dev/zero", "../../x", "nan", "-"),
    *("\x00", "\x1b]0;t\x07", "\n::error::x", "\u202e", "\udcff", "'\"`$(x)"),
)
#: In place of a value of JSON.
OF_JSON = (
    *NUMBERS,
    *map(json.dumps, (*_TEXTS, None, True, [], {}, [[]], [None], {"": None}, [0] * _LONG)),
    "[" * _DEEP,
    "[" * _DEEP + "]" * _DEEP,
    '{"a":' * _DEEP + "0" + "}" * _DEEP,
)
#: In place of a part of a text.
OF_TEXT = (
    *NUMBERS,
    *_TEXTS,
    *("nan", "inf", "1.5.5", "(" * _DEEP, "[" * _DEEP, "a.py:" * _DEEP, " " * _LONG),
)


class Field(NamedTuple):
    """A field of a record, and where its value is."""

    name: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file with one record whose fields are known.

    Attributes:
        path: in the folder of the evidence.
        before, after: what is around the record.
        between: what separates records.
        beside: the folder's other files.
    """

    format: str
    path: str
    record: str
    fields: Sequence[Field]
    values: Sequence[str]
    before: str = ""
    after: str = ""
    between: str = ""
    beside: Mapping[str, bytes] = field(default_factory=dict)

    def inputs(self) -> Iterator[Input]:
        """An input for each field and value; then for each field one with many records, which
        differ in it alone, or with many items where a file has only one record.
        """
        for each in self.fields:
            for value in self.values:
                yield self._input(f"{each.name} {shown(value)}", partial(self._with, each, value))
        if not self.between:
            yield from self._grown()
            return
        many = min(_MANY, _MOST_BYTES // (len(self.record) + len(self.between) + 4))
        yield self._input(f"{many} times", partial(self._repeated, many), judged=True)
        for each in self.fields:
            for way in ("up", "down"):
                records = partial(self._counted, each, way, many)
                yield self._input(f"{each.name} {way} {many} times", records, judged=True)

    def _grown(self) -> Iterator[Input]:
        """An input for each list, with its items many times, and for each object, with many keys
        that have the value of its first.
        """
        for each in self.fields:
            known = self.record[each.begin : each.end]
            inner = known[1:-1]
            many = min(_MANY, _MOST_BYTES // (len(inner) + 10))
            if known.startswith("[") and inner:
                grown = partial(self._with_items, each, inner, many)
            elif known.startswith('{"'):
                grown = partial(self._with_keys, each, inner, many)
            else:
                continue
            yield self._input(f"{each.name} of {many}", grown, judged=True)

    def _with_items(self, each: Field, inner: str, many: int) -> str:
        return self._with(each, f"[{', '.join([inner] * many)}]")

    def _with_keys(self, each: Field, inner: str, many: int) -> str:
        name, _, rest = inner.removeprefix('"').partition('"')
        items = (f'"{name}{number}"{rest}' for number in range(many))
        return self._with(each, f"{{{', '.join(items)}}}")

    def _with(self, each: Field, value: str) -> str:
        return self.record[: each.begin] + value + self.record[each.end :]

    def _repeated(self, many: int) -> str:
        return self.between.join([self.record] * many)

    def _counted(self, each: Field, way: str, many: int) -> str:
        """Many records, each with a number in a field, whose type remains."""
        known = self.record[each.begin : each.end]
        text = known[:1] == known[-1:] == '"'
        before, after = (known[:-1], '"') if text else ("", "") if known.isdigit() else (known, "")
        numbers = range(many) if way == "up" else range(many, 0, -1)
        return self.between.join(self._with(each, f"{before}{number}{after}") for number in numbers)

    def _input(self, what: str, record: Callable[[], str], judged: bool = False) -> Input:
        files = partial(self._files, record)
        return Input(self.format, f"{self.path}: {what}", files, judged)

    def _files(self, record: Callable[[], str]) -> dict[str, bytes]:
        text = self.before + record() + self.after
        return {self.path: text.encode("utf-8", "surrogateescape"), **self.beside}


def shown(value: str) -> str:
    """The beginning of a value, and how long it is."""
    return ascii(value if len(value) < 30 else f"{value[:12]}… ({len(value)})")


def as_json(value: Any, colon: str = ": ") -> tuple[str, list[Field]]:
    """A value as JSON, and the places of all values and keys in it. A key with another name is
    missing.

    Args:
        colon: between a key and its value; TOML has another than JSON.
    """
    text, fields = "", list[Field]()

    def write(value: Any, name: str) -> None:
        nonlocal text
        begin = len(text)
        if isinstance(value, dict) and value:
            for number, (key, item) in enumerate(value.items()):
                text += f"{', ' if number else '{'}"
                start = len(text)
                text += f"{json.dumps(key)}"
                fields.append(Field(f"{name}.{key} (key)", start, len(text)))
                text += colon
                write(item, f"{name}.{key}")
            text += "}"
        elif isinstance(value, list | tuple) and value:
            for number, item in enumerate(value):
                text += f"{', ' if number else '['}"
                write(item, f"{name}[{number}]")
            text += "]"
        else:
            text += json.dumps(value)
        fields.append(Field(name, begin, len(text)))

    write(value, "")
    return text, fields
