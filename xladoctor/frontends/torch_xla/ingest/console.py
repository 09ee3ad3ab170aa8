"""Reads torch_xla's own analysis of its metrics, printed to the console with ``PT_XLA_DEBUG``.

The lines come from ``torch_xla/csrc/runtime/metrics_analysis.cc``. They are printed at barriers,
and their counts are cumulative. At the program's end, torch_xla prints where operators ran on the
CPU, in blocks (``torch_xla/debug/frame_parser_util.py``)::

    pt-xla-profiler: Unlowered Op usage summary (more of these ops, lower performance)
    pt-xla-profiler: FRAME (count=27):
    pt-xla-profiler: Unlowered Op: "_local_scalar_dense"
    pt-xla-profiler: Python Frames:
    pt-xla-profiler:   train_loop_fn (/home/ada/train.py:200)

Since 1.10 no block names its operator: all fallbacks go through ``xla_fallback``, which is counted
in a block of its own, and the blocks with frames have no name. With ``PT_XLA_DEBUG_FILE`` they are
in that file, without the mark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xladoctor.frontends.torch_xla.ingest.metrics_figures import parse_duration_ns
from xladoctor.ingest.frames import Folders, Frame, frame_in
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import ProcessRows
from xladoctor.ingest.text_reader import TextPart

#: People also copy them by hand: "… too frequent 104300 in 34742 steps".
_FREQUENT = re.compile(
    r"\b(\w++) too frequent:? (\d{1,18})(?: counts)? (?:during|in) (\d{1,18}) steps", re.ASCII
)
_SLOW = re.compile(r"\b(\w++) too slow: longest instance took ([\dhms.]+us)\b", re.ASCII)
_UNLOWERED = re.compile(r"Op\(s\) not lowered: ((?:[\w.]+::[\w.]+, *)+)", re.ASCII)
_OP = re.compile(r"(?<![\w.])[\w.]++::[\w.]+", re.ASCII)
_BEGIN = re.compile(r"FRAME \(count=(\d{1,18})\):", re.ASCII)
_PLACED = re.compile(r'Unlowered Op: "([\w.:]+)"', re.ASCII)
_NAMESPACE = "aten::"  # left out in those blocks
_ALL = _NAMESPACE + "xla_fallback"
_VARIANT = re.compile(r"(_backward)?([.].*)?$")  # an operator's pass and overload
_STEPS = "MarkStep"


@dataclass(slots=True)
class _Place:
    """Where an operator ran on the CPU, and how often."""

    count: int
    op: str = ""
    frames: list[Frame] = field(default_factory=list)


class Console(TextPart):
    """The latest values of such lines.

    Attributes:
        samples: samples by metric.
        longest_ns: the longest sample by metric, if one was too slow; a lower bound of their sum.
        operators: operators that ran on the CPU; how often is not printed.
        steps: barriers so far; None if no line has them.
    """

    NAME = "metrics on the console"
    MARK = "pt-xla-profiler"
    SUMMARY = "Unlowered Op usage summary"
    END = "=" * 80  # the last line of that summary
    supplements = True

    def __init__(self) -> None:
        self.samples: dict[str, int] = {}
        self.longest_ns: dict[str, float] = {}
        self.operators: dict[str, None] = {}
        self.steps: int | None = None
        self._places: list[_Place] = []

    def __bool__(self) -> bool:
        return bool(self.samples or self.longest_ns or self.operators or self._places)

    def take(self, line: str) -> bool:
        """Take a line, from the mark on; False if it is not one of these."""
        if match := _FREQUENT.search(line):
            name, count, steps = match[1], int(match[2]), int(match[3])
            self.samples[name] = max(count, self.samples.get(name, 0))
            self.steps = max(steps, self.steps or 0)
        elif match := _SLOW.search(line):
            try:
                self.longest_ns[match[1]] = parse_duration_ns(match[2])
            except ValueError:
                return False
        elif match := _UNLOWERED.search(line):
            self.operators |= dict.fromkeys(_OP.findall(match[1]))
        else:
            return self._take_place(line)
        return True

    def _take_place(self, line: str) -> bool:
        if match := _BEGIN.search(line):
            self._places.append(_Place(int(match[1])))
            return True
        if not self._places:
            return False
        place = self._places[-1]
        if match := _PLACED.search(line):
            place.op = match[1] if "::" in match[1] else _NAMESPACE + match[1]
        elif frame := frame_in(line.removeprefix(f"{self.MARK}:").strip()):
            place.frames.append(frame)
        else:
            return False
        return True

    def add(self, made: Gathered, rows: ProcessRows) -> str | None:
        """Append to ``metric`` and ``counter`` what a metrics report has not provided already."""
        rows.table("metric", "counter")
        metrics, counters = (
            {name for (name,) in rows.of(table, "name")} for table in ("metric", "counter")
        )
        for name in {**self.samples, **self.longest_ns}:
            if name not in metrics:
                longest = self.longest_ns.get(name)
                row = {"name": name, "unit": "ns", "samples": self.samples.get(name)}
                row |= {"since": None, "p50": None, "growth": None}
                rows.add("metric", **row, accumulator=longest, p99=longest)
        if self.steps is not None and _STEPS not in counters:
            rows.add("counter", name=_STEPS, value=self.steps)
        counted = self._add_places(rows)
        for name in {**counted, **self.operators}:
            if name not in counters:
                rows.add("counter", name=name, value=counted.get(name))
        return None

    def _add_places(self, rows: ProcessRows) -> dict[str, int]:
        """Fill ``fallback``; return how often each operator ran, if blocks name it."""
        counted: dict[str, int] = {}
        folders = Folders()
        called = {_base(op): op for op in self.operators if "_backward" not in op}
        for place in self._places:
            if place.op == _ALL and not place.frames:
                continue
            op = called.get(_entry(place.frames, folders)) if place.op in ("", _ALL) else place.op
            if op:
                counted[op] = counted.get(op, 0) + place.count
            row = {"op": op, "count": place.count, "duration_ns": None, "compile_ns": None}
            rows.add("fallback", **row, **folders.locate(place.frames).columns())
        return counted


def _base(op: str) -> str:
    return _VARIANT.sub("", op).removeprefix(_NAMESPACE)


def _entry(frames: list[Frame], folders: Folders) -> str:
    """The framework's function that was called last, which operators are named after."""
    return frames[0].function if frames and folders.is_machinery(frames[0].file) else ""
