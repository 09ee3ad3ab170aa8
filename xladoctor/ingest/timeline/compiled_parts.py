"""Finds calls of the numbered parts that a compiler made of functions, and what splits them.

The code after a graph break is called from the part before it, as a function of its own that is
named after the line. So the parts of one call are nested, whereas functions that are compiled one
by one follow each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xladoctor.frontends.vocabulary import events, part_of, resumed, vocabularies
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders, Frame
from xladoctor.ingest.interface import Columns, Interned, ProcessRows
from xladoctor.ingest.timeline.clock import Timeline
from xladoctor.ingest.timeline.intervals import Intervals, Times
from xladoctor.ingest.timeline.python_frames import PythonFrames
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.xplane import wire
from xladoctor.ingest.xplane.nesting import nest
from xladoctor.ingest.xplane.space import Line

_RECURS = 3  # fewer times that parts follow each other may be chance
_THEN = " > "  # between the numbers of parts


def add_compiled_parts(reading: Reading) -> Columns:
    """Fill ``compiled_part``, whose columns are returned, and ``split_call``, if such calls are in
    the timeline.
    """
    timeline, rows = reading.timeline, reading.rows
    names = timeline.events.names
    parts = {name: part for name in names if (part := part_of(name))}
    if not parts:
        return {}
    chosen = timeline.choice(parts)
    lines = [line for line in timeline.threads if len(timeline.chosen(line, chosen))]
    texts = [parts.get(each, "") for each in names]
    threads = [_Parts.of(timeline, line, chosen, texts) for line in lines]
    begin = np.concatenate([thread.begin for thread in threads])
    end = np.concatenate([thread.end for thread in threads])
    name = np.concatenate([thread.name for thread in threads])
    order = np.lexsort((begin - end, begin))
    begin, end, name = begin[order], end[order], name[order]
    step = reading.step_of(begin)
    calls: Columns = {
        "compile_id": Interned(name, texts),
        "step": np.ma.masked_array(step, step < 0),
        "begin_ns": begin,
        "duration_ns": end - begin,
    }
    rows.append("compiled_part", calls)
    rows.table("split_call")
    separating = timeline.beginning(*events("backward"), *events("update"), *events("step"))
    for line, thread in zip(lines, threads, strict=True):
        thread.add_split(timeline, line, reading.doing["compile"], rows)
        # what is never within a function of a forward pass
        apart = np.sort(timeline.begins(line, timeline.chosen(line, separating)))
        rows.notes.extend(thread.notes(apart, str(timeline.space.path)))
    return calls


@dataclass(frozen=True, slots=True)
class _Parts:
    """The calls of one thread, in order of time, the outer before the inner.

    Attributes:
        name: index in ``texts``, the numbers of the parts.
        frame: number of the function that each is a version of; index in ``frames``.
        parent: number of the enclosing call; -1 for none.
    """

    begin: Times
    end: Times
    name: wire.Array
    texts: list[str]
    frame: wire.Ints
    frames: list[str]
    parent: wire.Ints

    @classmethod
    def of(cls, timeline: Timeline, line: Line, chosen: wire.Array, texts: list[str]) -> _Parts:
        """The calls of a line."""
        which = timeline.chosen(line, chosen)
        begin, end = timeline.begins(line, which), timeline.ends(line, which)
        order = np.lexsort((begin - end, begin))
        which, begin, end = which[order], begin[order], end[order]
        name = timeline.events.name[line.events][which].astype(np.int32)
        _, _, parent = nest(begin, end - begin)
        functions = {index: texts[index].partition("/")[0] for index in np.unique(name).tolist()}
        frames = sorted(set(functions.values()))
        frame = np.array([frames.index(functions[index]) for index in name.tolist()], np.int64)
        return cls(begin, end, name, texts, frame, frames, parent)

    def add_split(
        self, timeline: Timeline, line: Line, compiling: Intervals, rows: ProcessRows
    ) -> None:
        """Add a row for each function that begins within calls of another."""
        root = self._roots()
        later = np.flatnonzero(root != np.arange(len(root)))
        if not len(later):
            return
        since = self._since(timeline, line, later)
        between = Intervals(since, self.begin[later])
        operators = timeline.during([line], timeline.beginning(*events("operator")))
        compiled = compiling.covered(between.begin, between.end)
        called = operators.covered(between.begin, between.end) - operators.common(
            compiling
        ).covered(between.begin, between.end)
        usual = self._sequences(root, later)
        frames = PythonFrames.of(timeline, line)
        pairs = np.stack((self.frame[root[later]], self.frame[later]), axis=1)
        for function, part in np.unique(pairs, axis=0).tolist():
            own = np.flatnonzero((pairs == (function, part)).all(axis=1))
            example = int(later[own[0]])
            rows.add(
                "split_call",
                frame=self.frames[function],
                compiled=_function(frames, self, int(root[example])),
                parts=_THEN.join(self.texts[name] for name in usual[function]),
                part=self.frames[part],
                count=len(np.unique(root[later[own]])),
                between_ns=int(np.median((between.end - between.begin - compiled)[own])),
                operators_ns=int(np.median(called[own])),
                **_resumed(frames, self, example).columns(),
            )

    def _roots(self) -> wire.Ints:
        """For each call, the outermost one around it."""
        root = np.arange(len(self.parent))
        while (inner := self.parent[root] >= 0).any():
            root = np.where(inner, self.parent[root], root)
        return root

    def _sequences(self, root: wire.Ints, later: wire.Ints) -> dict[int, tuple[int, ...]]:
        """For each function that is split, the parts in most of its calls, in order."""
        calls: dict[int, list[int]] = {}
        for call in later.tolist():
            first = int(root[call])
            calls.setdefault(first, [int(self.name[first])]).append(int(self.name[call]))
        counts: dict[int, Counter[tuple[int, ...]]] = {}
        for first, names in calls.items():
            counts.setdefault(int(self.frame[first]), Counter())[tuple(names)] += 1
        return {function: each.most_common(1)[0][0] for function, each in counts.items()}

    def _since(self, timeline: Timeline, line: Line, later: wire.Ints) -> Times:
        """When the thing before each of these calls ended: a part, a graph, or in the enclosing
        part, what leads to its graph.
        """
        graphs = timeline.chosen(line, timeline.beginning(*events("compiled")))
        ends = np.sort(timeline.ends(line, graphs))
        begin, parent = self.begin[later], self.parent[later]
        before = np.searchsorted(ends, begin, "right") - 1
        return np.maximum(
            np.where(before >= 0, ends[before], self.begin[parent]), self.begin[parent]
        )

    def notes(self, apart: Times, file: str) -> Iterator[str]:
        """Notes on what is unknown about functions that repeatedly follow one another.

        Args:
            apart: when the thread ran something that separates functions.
            file: the file's name.
        """
        outer = np.flatnonzero(self.parent < 0)
        begin, end, frame = self.begin[outer], self.end[outer], self.frame[outer].tolist()
        lasted = end - begin
        near = begin[1:] - end[:-1] <= np.maximum(lasted[1:], lasted[:-1])
        near &= np.searchsorted(apart, begin[1:]) == np.searchsorted(apart, end[:-1])
        chains: list[list[int]] = []
        in_a_row: list[list[int]] = []  # calls of one function
        for place, joined in enumerate([False, *near.tolist()]):
            if not joined or frame[place] in (frame[call] for call in chains[-1]):
                chains.append([])
            if not joined or frame[place] != frame[in_a_row[-1][0]]:
                in_a_row.append([])
            chains[-1].append(place)
            in_a_row[-1].append(place)
        command = next(
            words.words["breaks"] for words in vocabularies().values() if "breaks" in words.words
        )
        counts = Counter(tuple(frame[call] for call in chain) for chain in chains if len(chain) > 1)
        for functions, count in counts.items():
            if count >= _RECURS:
                named = ", ".join(self.frames[function] for function in functions)
                breaks = len(functions) - 1
                yield (
                    f"{file}: compiled functions {named} follow one another {count} times:"
                    f" {breaks} graph break{'s' * (breaks > 1)}, or {len(functions)} functions that"
                    f" are compiled one by one; {command} shows which"
                )
        repeated = Counter((frame[calls[0]], len(calls)) for calls in in_a_row if len(calls) > 1)
        for (function, calls), count in repeated.items():
            if count >= _RECURS:
                yield (
                    f"{file}: compiled function {self.frames[function]} is called {calls} times in"
                    f" a row, {count} times: a separately compiled part, such as a layer, or"
                    " all that is compiled of a function that calls it in a loop with a graph break"
                    f" in it; {command} shows which"
                )


def _function(frames: PythonFrames, parts: _Parts, call: int) -> str | None:
    """The name of the function that a part belongs to, if Python frames are recorded."""
    frame = _frame_in(frames, parts, call)
    return frame.function if frame else None


def _resumed(frames: PythonFrames, parts: _Parts, call: int) -> CallSite:
    """The line after which a part continues, from the name of its function."""
    frame = _frame_in(frames, parts, call)
    after = resumed(frame.function) if frame else None
    if frame is None or after is None:
        return NOWHERE
    function, at = after
    return Folders().locate([Frame(frame.file, at, function)])


def _frame_in(frames: PythonFrames, parts: _Parts, call: int) -> Frame | None:
    """The first Python function that begins in a call."""
    at = int(np.searchsorted(frames.begin, parts.begin[call]))
    if at < len(frames.begin) and frames.begin[at] < parts.end[call]:
        return frames.frames[int(frames.function[at])]
    return None
