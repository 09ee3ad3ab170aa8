"""Reads what runtimes and compilers say when memory does not suffice.

Wording: XLA's buffer assignment and BFC allocator (``xla/service/buffer_assignment.cc``,
``gpu_executable.cc``), libtpu 2020 to 2026, and the frameworks' allocators. All sizes are binary::

    RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used
    31.82G of 31.25G hbm. Exceeded hbm capacity by 587.89M.
        arguments         5.72G
        HLO temp         26.10G (96.2% utilization: …, 2.0% fragmentation (533.0M))
      1. Size: 4.00G
         Operator: op_name="jit(step)/jvp(…)/dot_general" source_file="/app/train.py" source_line=42
         Shape: bf16[32,4096]{1,0:T(8,128)(2,1)}
         Unpadded size: 3.00G
         XLA label: fusion.12 = fusion(…)
         Allocation type: HLO temp
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from xladoctor.ingest.compiler_log import CompilerLog
from xladoctor.ingest.frames import NOWHERE, CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
_S = r"(\d{1,20}(?:\.\d{1,9})?) ?([KMGTP]?)(?:i?B\b|\b| bytes)"
_LONGEST = 300  # characters of a text
_PATIENCE = 12  # lines of another kind, after which a message is over
#: A printed exception, after what a job's launcher may put before it.
_RAISED = re.compile(r"^(?:[(\[].{0,60}?[)\]]:? )?(?:E +)?[\w.]{0,99}(?:Error|Exception)\b[:(] ?")


def _sizes(match: re.Match[str]) -> list[int]:
    groups = [group for group in match.groups() if group is not None]
    pairs = zip(groups[::2], groups[1::2], strict=True)
    return [round(float(number) * (1 << _UNITS[unit])) for number, unit in pairs]


#: Forms of the first line: the space, and the names of the sizes in it, in their order.
_HEADS: tuple[tuple[re.Pattern[str], str, tuple[str, ...]], ...] = (
    (
        re.compile(rf"Used {_S} of {_S} hbm\. Exceeded hbm capacity by {_S}"),
        "hbm",
        ("used_bytes", "available_bytes", "exceeded_bytes"),
    ),
    (
        re.compile(rf"Used {_S} of {_S} hbm\. Exceeded"),
        "hbm",
        ("used_bytes", "available_bytes"),
    ),
    (
        re.compile(rf"memory required for .{{0,99}}? \({_S}\) exceeds available HBM \({_S}\)"),
        "hbm",
        ("used_bytes", "available_bytes"),
    ),
    (
        re.compile(rf"Attempting to (?:allocate|reserve) {_S}.{{0,99}}? There are {_S} free"),
        "hbm",
        ("requested_bytes", "available_bytes"),
    ),
    (
        re.compile(
            rf"CUDA out of memory\. Tried to allocate {_S}.{{0,99}}?total capacity of {_S} of which"
            rf" {_S} is free"
        ),
        "device",
        ("requested_bytes", "", "available_bytes"),
    ),
    (
        re.compile(
            rf"CUDA out of memory\. Tried to allocate {_S} \(GPU \d+; {_S} total capacity;"
            rf" {_S} already allocated; {_S} free"
        ),
        "device",
        ("requested_bytes", "", "used_bytes", "available_bytes"),
    ),
    (
        re.compile(rf"[Oo]ut of memory (?:while trying to allocate|allocating) {_S}"),
        "device",
        ("requested_bytes",),
    ),
    (
        re.compile(rf"can't allocate memory: you tried to allocate {_S}"),
        "host",
        ("requested_bytes",),
    ),
    (re.compile(rf"Unable to allocate {_S} for an array"), "host", ("requested_bytes",)),
)

#: Lines of totals, and what they are of.
_TOTALS = (
    (re.compile(rf"^\s*(?:\(.{{0,60}}\) +)?arguments +{_S}"), "argument_bytes"),
    (re.compile(rf"\bparameter allocation: +{_S}"), "argument_bytes"),
    (re.compile(rf"^\s*(?:\(.{{0,60}}\) +)?HLO temp +{_S}"), "temporary_bytes"),
    (re.compile(rf"\bpreallocated temp allocation: +{_S}"), "temporary_bytes"),
    (re.compile(rf"^\s*(?:\(.{{0,60}}\) +)?program +{_S}"), "program_bytes"),
    (re.compile(rf"^\s*(?:\(.{{0,60}}\) +)?reserved +{_S}"), "reserved_bytes"),
    (re.compile(rf"\bOutput size {_S}"), "result_bytes"),
    (re.compile(rf"\btotal fragmentation: +{_S}"), "fragmented_bytes"),
    (re.compile(rf"\btotal allocation: +{_S}"), "used_bytes"),
)
_FRAGMENTED = re.compile(rf"% fragmentation \({_S}\)")
_SHARED = re.compile(rf"; shares {_S} with arguments")
_BEGINS = re.compile(rf"\b(?:\d{{1,4}}\. Size: {_S}|Buffer \d{{1,4}}:\s*$)")
_SIZE = re.compile(rf"\bSize: {_S}")
_UNPADDED = re.compile(rf"\bUnpadded size: {_S}")
_SHAPE = re.compile(r"\b(?:(Entry Parameter Subs)|S)hape: (\w{1,20})\[([\d,]{0,200})\]")
_NAME = re.compile(r'\bop_name="([^"]{1,999})"')
_SOURCE = re.compile(r'\bsource_file="([^"]{1,999})" source_line=(\d{1,9})')
_LABEL = re.compile(r"\bXLA [Ll]abel: %?([\w.-]{1,200})")
_KIND = re.compile(r"\bAllocation type: (.{1,40})")
_BLANK = re.compile(
    r"^\W*$|={10}|Peak buffers|Largest program|hbm requirement|hbm usage|OOM Debugg"
)
_PROGRAM = re.compile(r"^(?:p?jit|pmap)\(([^()/]{1,200})\)")


@dataclass
class Shortage:
    """A message, as the columns of ``memory_shortage`` and ``shortage_buffer`` have it.

    Attributes:
        sizes: those columns of bytes that it tells.
        buffers: columns of each buffer.
    """

    text: str
    space: str
    raised: bool
    sizes: dict[str, int]
    site: CallSite = NOWHERE
    buffers: list[dict[str, Any]] = field(default_factory=list)
    others: int = 0

    @classmethod
    def begun_by(cls, line: str, raised: bool | None = None) -> Shortage | None:
        """The message that a line begins, if it does; ``raised`` if that is known."""
        for pattern, space, names in _HEADS:
            if match := pattern.search(line):
                given = zip(names, _sizes(match), strict=True)
                sizes = {name: size for name, size in given if name}
                known = bool(_RAISED.match(line)) if raised is None else raised
                return cls(line.strip()[:_LONGEST], space, known, sizes)
        return None

    def take(self, line: str) -> bool:
        """Take a further line; False if it is none of the message's."""
        for pattern, name in _TOTALS:
            if match := pattern.search(line):
                self.sizes.setdefault(name, _sizes(match)[0])
                for beside, its_name in (
                    (_FRAGMENTED, "fragmented_bytes"),
                    (_SHARED, "aliased_bytes"),
                ):
                    if match := beside.search(line):
                        self.sizes.setdefault(its_name, _sizes(match)[0])
                return True
        if begins := _BEGINS.search(line):
            self.buffers.append({"bytes": _sizes(begins)[0] if begins[1] else None})
            return True
        return (bool(self.buffers) and self._detail(line)) or bool(_BLANK.search(line))

    def _detail(self, line: str) -> bool:
        buffer, known = self.buffers[-1], len(self.buffers[-1])
        if match := _SHAPE.search(line):
            shape = tuple(int(size) for size in match[3].split(",") if size)
            buffer.update(type=match[2], shape=shape)
            buffer.setdefault("kind", "argument" if match[1] else "temporary")
        if match := _NAME.search(line):
            buffer["op_name"] = match[1]
        if match := _SOURCE.search(line):
            buffer["site"] = CallSite(match[1], int(match[2]))
        if match := _LABEL.search(line):
            buffer["label"] = match[1]
        if match := _KIND.search(line):
            buffer["kind"] = "argument" if "arg" in match[1].lower() else "temporary"
        if match := _UNPADDED.search(line):
            buffer["unpadded_bytes"] = _sizes(match)[0]
        elif match := _SIZE.search(line):
            buffer["bytes"] = _sizes(match)[0]
        return len(buffer) > known or bool(_SIZE.search(line))

    @property
    def program(self) -> str | None:
        """The compiled function that most buffers are of."""
        names = (_PROGRAM.match(each.get("op_name", "")) for each in self.buffers)
        counts = Counter(name[1] for name in names if name)
        return counts.most_common(1)[0][0] if counts else None


def shortage(text: str, raised: bool = True) -> Shortage | None:
    """What a message says, which may have many lines; None if it is about something else."""
    found: Shortage | None = None
    for line in text.splitlines():
        if found is None:
            found = Shortage.begun_by(line, raised)
        else:
            found.take(line)
    return found


_ROW: Mapping[str, Any] = dict.fromkeys(
    ("bytes", "unpadded_bytes", "type", "shape", "op_name", "label", "kind")
)


def add_shortage(said: Shortage, number: int, add: Callable[..., None]) -> None:
    """Append the rows of a message, the ``number``-th of its process.

    Args:
        add: appends a row to a table.
    """
    sizes = ("used", "available", "requested", "argument", "temporary", "fragmented")
    add(
        "memory_shortage",
        number=number,
        raised=said.raised,
        space=said.space,
        program=said.program,
        **{f"{name}_bytes": said.sizes.get(f"{name}_bytes") for name in sizes},
        text=said.text,
        **said.site.columns(),
    )
    for nth, buffer in enumerate(said.buffers):
        site = buffer.pop("site", NOWHERE)
        add("shortage_buffer", number=number, nth=nth, **{**_ROW, **buffer}, **site.columns())


class MemoryErrors(CompilerLog):
    """Collects the messages of one process."""

    NAME = "messages that memory does not suffice"
    LACKING = "the message that memory does not suffice is cut off"
    MARKS = (
        "Ran out of memory",
        "exceeds available HBM",
        "Attempting to ",
        "ut of memory",
        "can't allocate memory",
        "Unable to allocate",
    )
    supplements = True

    def __init__(self) -> None:
        self._all: list[Shortage] = []
        self._open: Shortage | None = None

    @property
    def has_records(self) -> bool:
        """Whether there is any message."""
        return bool(self._all)

    def take(self, line: str) -> bool:
        """Take a line; False if it is not part of a message."""
        begun = Shortage.begun_by(line)
        if begun is not None:
            self._all.append(begun)
            self._open = begun
            return True
        if self._open is None:
            return False
        if self._open.take(line):
            return True
        self._open.others += 1
        if self._open.others > _PATIENCE:
            self._open = None
        return False

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Fill ``memory_shortage`` and ``shortage_buffer``."""
        for number, said in enumerate(self._all):
            add_shortage(said, number, rows.add)
        return None
