"""Reads what XLA's partitioner says of a tensor that it copies in full to bring it to another
sharding.

Wording: ``spmd_partitioner.cc`` of XLA, 2022 to 2026, after whatever the log puts before it. Older
releases wrote ``[spmd]``, and until 2024 nothing about the operation, whose shape is that of a
device's part::

    [SPMD] Involuntary full rematerialization. The compiler was not able to go from sharding
    {devices=[2,1,4]<=[4,2]T(1,0)} to {devices=[1,8,1]<=[8]} without doing a full rematerialization
    of the tensor for HLO operation: %add.2 = f32[128,256,16]{2,1,0} add(%p, %p), sharding={…},
    metadata={op_name="jit(f)/add" source_file="/app/train.py" source_line=12}. You probably …
    [SPMD] Involuntary full rematerialization. The compiler cannot go from sharding
    {mesh['x'=4,'y'=2], [{'y'}, {}, {'x'}]} to {…} efficiently for HLO operation %add.2 = …,
    metadata={op_name="jit(f)/add" stack_frame_id=2}. As the last resort, SPMD will …
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import permutations
from typing import Any, NamedTuple

from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows

_MARK = "Involuntary full rematerialization"
_END = re.compile(r"\} (?:without doing a full|efficiently)")
_OPERATION = re.compile(
    r"HLO operation:? %?([\w.-]{1,200}) = (\w{1,20})\[([\d,]{0,200})\]\S{0,200} ([\w-]{1,60})\("
)
_NAME = re.compile(r'\bop_name="([^"]{1,999})"')
_SOURCE = re.compile(r'\bsource_file="([^"]{1,999})" source_line=(\d{1,9})')
_FRAME = re.compile(r"\bstack_frame_id=(\d{1,9})")
_FUNCTION = re.compile(r"^(?:p?jit|pmap)\(([^()/]{1,200})\)")
_TILES = re.compile(r"^\{devices=\[([\d,]{1,200})\]")
_GROUPS = re.compile(r"last_tile_dims=\{([\w, ]{0,200})\}")
_MESH = re.compile(r"^\{(?:@?\w{0,60})?mesh\[([^\]]{0,400})\], \[(.{0,400}?)\]")
_AXIS = re.compile(r"'([^']{1,60})'=(\d{1,9})")
_DIMENSION = re.compile(r"\{([^{}]{0,200})\}")
_USED = re.compile(r"'([^']{1,60})'(?::\(\d{1,9}\)(\d{1,9}))?")


class Sharding(NamedTuple):
    """How an array is split, as HLO text has it.

    Attributes:
        parts: of each dimension; None if the text does not say.
        axes: of the mesh, over which each dimension is split, where they have names.
        text: the text.
    """

    parts: tuple[int, ...] | None
    axes: tuple[tuple[str, ...], ...]
    text: str

    @classmethod
    def of(cls, text: str) -> Sharding:
        """Read it; unknown forms have no parts."""
        if match := _TILES.match(text):
            tiles = [int(size) for size in match[1].split(",") if size]
            groups = _GROUPS.search(text)
            beyond = groups[1].count(",") + 1 if groups else int("last_tile_dim_repl" in text)
            return cls(tuple(tiles[: len(tiles) - beyond]), (), text)
        if match := _MESH.match(text):
            sizes = {name: int(size) for name, size in _AXIS.findall(match[1])}
            used = [_USED.findall(each) for each in _DIMENSION.findall(match[2])]
            parts = (
                math.prod(int(part or sizes.get(name, 1)) for name, part in axes) for axes in used
            )
            return cls(tuple(parts), tuple(tuple(n for n, _ in axes) for axes in used), text)
        return cls(None, (), text)

    @property
    def words(self) -> str:
        """How it is split."""
        if self.parts is None:
            only = re.fullmatch(r"\{maximal device=(\d+)\}", self.text)
            whole = "whole on each device" if self.text == "{replicated}" else self.text
            return f"whole on device {only[1]} alone" if only else whole
        over = [f" ({', '.join(axes)})" for axes in self.axes] or [""] * len(self.parts)
        split = [
            f"dimension {number} in {parts} parts{over[number]}"
            for number, parts in enumerate(self.parts)
            if parts > 1
        ]
        return ", ".join(split) or "whole on each device"

    def halfway_to(self, other: Sharding) -> str | None:
        """A sharding between, which differs from each by what one dimension gives to another: as a
        specification where axes have names, else in words. None if there is none.
        """
        if self.axes and len(self.axes) == len(other.axes):
            axes = [list(each) for each in self.axes]
            moves = [
                (axes[to] + each[-1:] == [*wanted][: len(axes[to]) + 1], at, to)
                for at, each in enumerate(axes)
                for to, wanted in enumerate(other.axes)
                if at != to and each and each[-1] in wanted
            ]
            if not moves:
                return None
            _, at, to = max(moves, key=lambda move: move[0])  # the order that they have to be in
            axes[to].append(axes[at].pop())
            named = [repr(tuple(each) if each[1:] else (*each, None)[0]) for each in axes]
            same = [set(each) for each in axes] == [set(each) for each in other.axes]
            return None if same else f"P({', '.join(named)})"
        parts, wanted = list(self.parts or ()), list(other.parts or ())
        if len(parts) == len(wanted):
            for at, to in permutations(range(len(parts)), 2):
                given = parts[at] // wanted[at]
                if given > 1 and wanted[to] % (parts[to] * given) == 0:
                    parts[at], parts[to] = wanted[at], parts[to] * given
                    return Sharding(tuple(parts), (), "").words if parts != wanted else None
        return None


def full_copy(text: str) -> dict[str, Any] | None:
    """What a message says, as columns of ``full_copy`` without process, count and line.

    None if it does not say from which sharding to which. The bytes are those of the whole array,
    padding included where it is split unevenly.
    """
    shardings = text.partition("from sharding ")[2]
    end = _END.search(shardings)
    before, to, after = (shardings[: end.start() + 1] if end else "").partition("} to {")
    if not to:
        return None
    was, wanted = Sharding.of(before + "}"), Sharding.of("{" + after)
    words = wanted.words + (
        ", its parts on other devices" if wanted.words == was.words and was.parts else ""
    )
    operation, said = _OPERATION.search(text), text.rpartition("metadata={")
    name, frame = _NAME.search(said[2]), _FRAME.search(said[2])
    function = name and _FUNCTION.match(name[1])
    shape = _whole(operation[3], was) if operation else None
    return {
        "compiled": function and function[1],
        "instruction": operation and operation[1],
        "opcode": operation and operation[4],
        "type": operation and operation[2],
        "shape": shape,
        "bytes": operation and shape and _bytes(operation[2], shape),
        "before": was.words,
        "after": words,
        "between": was.halfway_to(wanted),
        "op_name": name and name[1],
        "frame": int(frame[1]) if frame else None,
    }


def _whole(sizes: str, split: Sharding) -> tuple[int, ...]:
    """The shape of the whole array, from that of a part."""
    shape = tuple(int(size) for size in sizes.split(",") if size)
    if split.parts is None or len(split.parts) != len(shape):
        return shape
    return tuple(size * parts for size, parts in zip(shape, split.parts, strict=True))


def _bytes(kind: str, shape: tuple[int, ...]) -> int:
    bits = re.search(r"\d+", kind)
    return math.prod(shape) * (int(bits[0]) if bits else 8) // 8


class FullCopies(CompilerLog):
    """Collects the messages of one process."""

    NAME = "what XLA's partitioner copies in full"
    LACKING = "the partitioner's message is cut off before it says from which sharding to which"
    MARKS = (_MARK,)
    supplements = True

    def __init__(self) -> None:
        self._all: Counter[str] = Counter()

    @property
    def has_records(self) -> bool:
        """Whether there is any message."""
        return bool(self._all)

    def take(self, line: str) -> bool:
        """Take a line; False if it is no message. One that is cut off is no record."""
        text = line[line.index(_MARK) :].strip() if _MARK in line else ""
        if full_copy(text) is not None:
            self._all[text] += 1
        return bool(text)

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``full_copy``."""
        for text, count in self._all.items():
            source = _SOURCE.search(text.rpartition("metadata={")[2])
            site = CallSite(source[1], int(source[2])) if source else NOWHERE
            said = full_copy(text) or {}
            rows.add("full_copy", thread=None, index=None, count=count, **said, **site.columns())
        return None
