"""Calls of compiled functions in a timeline, among which a log's compilations are placed."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns


class Calls(NamedTuple):
    """The calls of a process's compiled functions, and its steps.

    Attributes:
        begins: by function, the times at which it was called, in order.
        steps: begin, end, number and thread of each step, in order of time.
    """

    begins: dict[str, list[int]]
    steps: Sequence[tuple[int, int, int, int]]

    def place(self, compilation: Mapping[str, Any]) -> dict[str, Any]:
        """The columns that they add to a compilation: step, thread, and calls of its function.

        A call begins once it has been compiled. Calls before the timeline are not seen, so there
        may have been more, but not fewer.
        """
        end = compilation["end_ns"]
        if end is None:
            return {}
        at = bisect_right(self.steps, end, key=lambda step: step[0]) - 1
        if at < 0 or end > self.steps[at][1]:
            return {}
        _, _, step, thread = self.steps[at]
        known = {"step": step, "thread": thread}
        begins = self.begins.get(compilation["compile_id"].partition("/")[0], [])
        before = bisect_right(begins, end)
        if before < compilation["ordinal"]:
            return known
        return {**known, "ordinal": before, "launches": len(begins)}


NO_CALLS = Calls({}, ())


def counted_in_steps(made: Gathered, log: Gathered) -> None:
    """Count compilations that were placed in steps in those."""
    placed: Counter[Any] = Counter(step for (step,) in made.of("compilation", "step"))
    steps = log.recorded("step")
    for row, step in enumerate(steps.get("index", ())):
        steps["compilations"][row] += placed[step]


def calls_of(parts: Columns, log: Gathered) -> Calls:
    """The calls and steps in a timeline.

    Args:
        parts: its ``compiled_part``; empty without such calls.
        log: its steps, in the form of a step log.
    """
    begins: dict[str, list[int]] = {}
    if parts:
        functions = [text.partition("/")[0] for text in parts["compile_id"].texts]
        for code, begin in zip(
            parts["compile_id"].codes.tolist(), parts["begin_ns"].tolist(), strict=True
        ):
            begins.setdefault(functions[code], []).append(begin)
    steps = log.of("step", "begin_ns", "end_ns", "index", "thread")
    return Calls(begins, sorted(steps, key=lambda step: int(step[0])))
