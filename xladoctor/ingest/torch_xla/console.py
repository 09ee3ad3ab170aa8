"""What torch_xla prints to the console by itself with ``PT_XLA_DEBUG``: judgements of its metrics.

The lines are those of ``torch_xla/csrc/runtime/metrics_analysis.cc``, printed at barriers; counts
in them are cumulative.
"""

from __future__ import annotations

import re

from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.torch_xla.metrics_figures import parse_duration_ns

_MARK = "pt-xla-profiler: "
_FREQUENT = re.compile(r"(\w+) too frequent: (\d{1,18}) counts during (\d{1,18}) steps", re.ASCII)
_SLOW = re.compile(r"(\w+) too slow: longest instance took (\S+us)\.", re.ASCII)
_UNLOWERED = re.compile(r"Op\(s\) not lowered: ((?:[\w.]+::[\w.]+, *)+)", re.ASCII)
_STEPS = "MarkStep"


class Console:
    """What such lines said last.

    Attributes:
        samples: of each metric.
        longest_ns: its longest sample, where one was too slow: the least that all took.
        operators: those that ran on the CPU; how often is not said.
        steps: barriers until then, None if no line told.
    """

    def __init__(self) -> None:
        self.samples: dict[str, int] = {}
        self.longest_ns: dict[str, float] = {}
        self.operators: dict[str, None] = {}
        self.steps: int | None = None

    def __bool__(self) -> bool:
        return bool(self.samples or self.longest_ns or self.operators)

    def take(self, line: str) -> bool:
        """Take a line; False if it is none of these."""
        mark = line.find(_MARK)
        if mark < 0:
            return False
        if match := _FREQUENT.search(line, mark):
            name, count, steps = match[1], int(match[2]), int(match[3])
            self.samples[name] = max(count, self.samples.get(name, 0))
            self.steps = max(steps, self.steps or 0)
        elif match := _SLOW.search(line, mark):
            self.longest_ns[match[1]] = parse_duration_ns(match[2])
        elif match := _UNLOWERED.search(line, mark):
            self.operators |= dict.fromkeys(re.findall(r"[\w.]+::[\w.]+", match[1]))
        else:
            return False
        return True

    def add(self, process: int, ingested: Ingested) -> None:
        """Append it to ``metric`` and ``counter``, but for what a report there tells already."""
        metrics = set(ingested.table("metric").get("name", ()))
        counters = set(ingested.table("counter").get("name", ()))
        for name in {**self.samples, **self.longest_ns}:
            if name not in metrics:
                ingested.add("metric", process=process, name=name, unit="ns",
                             samples=self.samples.get(name), p50=None,
                             accumulator=self.longest_ns.get(name))  # fmt: skip
        if self.steps is not None and _STEPS not in counters:
            ingested.add("counter", process=process, name=_STEPS, value=self.steps)
        for name in self.operators:
            if name not in counters:
                ingested.add("counter", process=process, name=name, value=None)
