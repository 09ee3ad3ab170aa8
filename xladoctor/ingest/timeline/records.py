"""Derives the contents of a step log from the events of a timeline, as far as possible.

For timelines that are the only evidence of a process. If no Python functions are recorded,
compilations in barriers and in reads are distinguished by ``via``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from xladoctor.frontends.vocabulary import events
from xladoctor.ingest.compilations import Timed
from xladoctor.ingest.frames import CallSite
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.interface import Columns, ProcessRows
from xladoctor.ingest.timeline.breakdown import spent
from xladoctor.ingest.timeline.compiling import Compiled
from xladoctor.ingest.timeline.intervals import Intervals, Times, covering
from xladoctor.ingest.timeline.operator_calls import operator_calls
from xladoctor.ingest.timeline.python_frames import PythonFrames, paths_by_name
from xladoctor.ingest.timeline.reading import Reading
from xladoctor.ingest.xplane import wire
from xladoctor.warmup import WARMUP

#: Names for the call site of a graph, by the events around it.
_BARRIER, _READ, _OPERATOR, _CALL = "barrier", "read", "operator", "call"
#: Share and number of graphs launched by neither a barrier nor a read, above which the program is
#: in eager mode, where each operator is a graph.
_MOST, _MANY = 0.8, 100
_OF_FUNCTIONS = (
    "lines are those at which functions begin: the profiler's Python tracer records no others, and"
    " of most files the name alone"
)


def add_records(reading: Reading, compiled: Sequence[Compiled]) -> list[Timed] | None:
    """Fill ``host_sync`` of a process without other evidence, and ``step`` and ``cut`` of its log.

    Without events of a frontend in the timeline the tables stay absent: nothing was recorded. Of
    the steps only those ended by barriers count here, and those of a program that calls compiled
    functions, which needs no barriers. ``hlo_frame`` must be filled already: it has the folders of
    files, which tracers omit.

    Args:
        compiled: the compilations of all threads, in order of time.

    Returns:
        the compilations, in the form of a step log; None without such events.
    """
    rows = reading.rows
    paths = paths_by_name(rows.ingested.tables.get("hlo_frame", {}).get("file", ()))
    loop = _Loop.of(reading, compiled, paths)
    if not len(loop.graphs.begin) and not compiled:
        return None
    loop.add_steps(reading.log)
    loop.add_reads(rows)
    if loop.frames.frames:
        rows.notes.append(_OF_FUNCTIONS)
    return loop.compile_times(compiled)


def add_reads(reading: Reading) -> None:
    """Fill ``host_sync`` of a process whose log has its steps, but not its reads; only those in
    logged steps.
    """
    steps = reading.steps
    if steps is None or not steps.joined.any():
        return
    reading.rows.table("host_sync")
    loop = _Loop.of(reading, (), {})
    number = np.append(np.where(steps.joined, steps.number, -1), -1)
    begin, end = loop.reads.begin, loop.reads.end
    logged = (number[loop.step_of(begin)] >= 0) & (begin >= loop.begin)
    via = [loop.via[read] for read in np.flatnonzero(logged).tolist()]
    loop = replace(loop, reads=Intervals(begin[logged], end[logged]), via=via, number=number)
    loop.add_reads(reading.rows)


@dataclass(frozen=True, slots=True)
class _Loop:
    """The thread of a loop.

    Attributes:
        thread: its id, as the profiler gave it.
        ends: when each step ended; empty without barriers.
        number: the number of each step, and of what came after the last.
        before: how many steps the program made before each, and before what came after the last.
        barriers: when the thread was in a barrier; for a program that calls compiled functions
            without barriers, all time except reads.
        graphs: when it handed over a graph, including barriers, or called a compiled function.
        calls: whether it calls compiled functions.
        reads: when it fetched values outside of barriers.
        via: the name of each read without a frame, and its kind.
        compiled: when the compilation of each graph began.
        doing: when it did each activity.
        frames: the Python functions that it was in.
    """

    thread: int
    begin: int
    end: int
    ends: Times
    number: Times
    before: Times
    barriers: Intervals
    graphs: Intervals
    calls: bool
    reads: Intervals
    via: list[tuple[str, str]]
    compiled: Times
    doing: dict[str, Intervals]
    frames: PythonFrames

    @classmethod
    def of(cls, reading: Reading, compiled: Sequence[Compiled], paths: Mapping[str, str]) -> _Loop:
        """The loop in a timeline."""
        timeline, lines = reading.timeline, reading.lines
        steps, doing = reading.steps, reading.doing
        barriers = timeline.during(lines[:1], timeline.choice(events("barrier")))
        graphs = timeline.during(lines, timeline.choice(events("graph")))
        fetches = timeline.during(lines, timeline.choice(events("fetch")))
        via = [(_READ, "fetch")] * len(fetches.begin)
        calls = None
        if not len(graphs.begin) and timeline.compiled_calls.any():
            calls = timeline.during(lines, timeline.compiled_calls)
        if calls is None and not len(graphs.begin) and steps and "wait" in doing:
            calls, fetches, via = operator_calls(timeline, lines, doing["wait"])
        if calls:
            barriers, graphs = fetches.gaps(timeline.begin, timeline.end), calls
        elif steps and not steps.barriers:
            steps = None
        inside = barriers.covered(fetches.begin, fetches.end) > 0
        reads = Intervals(fetches.begin[~inside], fetches.end[~inside])
        via = [via[number] for number in np.flatnonzero(~inside).tolist()]
        begin = timeline.begin if steps is None else int(steps.begin[0])
        ends = before = np.empty(0, np.int64) if steps is None else steps.end
        if steps is not None:  # people warm up before a profile, which then does not show it
            early = steps.before
            before = np.where(steps.warming_up, early, np.maximum(early, WARMUP))
        before = np.append(before, before[-1:].sum() + len(before[-1:]))
        compilations = np.array([compilation.begin_ns for compilation in compiled], np.int64)
        frames = PythonFrames.of(timeline, lines[0] if lines else None, paths)
        return cls(
            lines[0].id if lines else 0,
            begin,
            timeline.end,
            ends,
            np.arange(len(ends) + 1),
            before,
            barriers,
            graphs,
            calls is not None,
            reads,
            via,
            compilations,
            doing,
            frames,
        )

    def add_steps(self, log: Gathered) -> None:
        """Add steps from barrier to barrier, and what came after the last."""
        begin, end = self._until(self.ends)
        number = np.arange(len(begin))
        self._add(
            "step",
            begin,
            end,
            log,
            {
                "tail": number == len(self.ends),
                "index": number,
                "ordinal": self.before,
                "barriers": np.ones(len(begin), np.int64),
                "traced": np.ones(len(begin), bool),
                "probed": np.zeros(len(begin), bool),
                "capture_ns": np.zeros(len(begin), np.int64),
                "executions": _count(self.graphs.begin, begin, end),
                "compilations": _count(self.compiled, begin, end),
                "log_offset": [None] * len(begin),
            },
        )
        if not len(self.ends):
            self._add_cuts(log)

    def _add_cuts(self, log: Gathered) -> None:
        """Add cuts from read to read, in a loop without barriers."""
        stops = self.reads.end
        begin, end = self._until(stops)
        last = np.arange(len(begin)) == len(stops)
        self._add(
            "cut",
            begin,
            end,
            log,
            {
                "step": np.zeros(len(begin), np.int64),
                "ended_by": np.where(last, "end", "read").tolist(),
                "launches": _count(self.graphs.begin, begin, end),
                "compilations": _count(self.compiled, begin, end),
            },
        )

    def _until(self, stops: Times) -> tuple[Times, Times]:
        """The spans that end at these instants, and the rest of the timeline."""
        begin = np.concatenate(([self.begin], stops)).astype(np.int64)
        return begin, np.append(stops, max(self.end, int(begin[-1])))

    def _add(self, table: str, begin: Times, end: Times, log: Gathered, more: Columns) -> None:
        """Add rows for spans of the thread; saves and most loaders leave no events: unknown."""
        whole, within = spent(self.doing, begin, end), self._in_barriers(begin, end)
        if whole["input"].any():
            more = {**more, "input_ns": whole["input"]}
        blocked = whole["wait"] + whole["dispatch"]
        place = _CALL if self.calls else _BARRIER if table == "step" else _READ
        # the barrier or read that ends a span begins before its end, and its function continues
        sites = self.frames.sites(end - 1, [place] * len(begin))
        columns: Columns = {
            "thread": np.full(len(begin), self.thread),
            "main": np.ones(len(begin), bool),
            "begin_ns": begin,
            "end_ns": end,
            "duration_ns": end - begin,
            "compile_ns": whole["compile"],
            "read_ns": blocked - within,
            "barrier_ns": within,
            "upload_ns": whole["upload"],
            **_columns(sites),
            **more,
        }
        log.extend(
            table,
            {
                name: values.tolist() if isinstance(values, np.ndarray) else values
                for name, values in columns.items()
            },
        )

    def _in_barriers(self, begin: Times, end: Times) -> Times:
        """How long each span was blocked in barriers."""
        waits = [self.doing[name].common(self.barriers) for name in ("wait", "dispatch")]
        return sum((part.covered(begin, end) for part in waits), np.zeros(len(begin), np.int64))

    def step_of(self, instants: Times) -> Times:
        """The place of the step that each instant is in, or of what came after the last."""
        return np.searchsorted(self.ends, instants, side="right")

    def add_reads(self, rows: ProcessRows) -> None:
        """Add each step's fetches; a cut's graph and compilation belong to the fetch after it."""
        step = self.step_of(self.reads.begin)
        called, kinds = [via for via, _ in self.via], [kind for _, kind in self.via]
        sites = list(zip(self.frames.sites(self.reads.begin, called), kinds, strict=True))
        places = {site: number for number, site in enumerate(dict.fromkeys(sites))}
        place = np.array([places[site] for site in sites], np.int64)
        pairs, count = np.unique(np.stack((step, place)), axis=1, return_counts=True)
        (step, place), known = pairs, list(places)
        begin, end = (part[step] for part in self._until(self.ends))
        whole = spent(self.doing, begin, end)
        outside = self.doing["compile"].covered(begin, end) - self.doing["compile"].common(
            self.barriers
        ).covered(begin, end)
        part = count / np.bincount(step, count)[step]  # of what the step's reads took
        blocked = whole["wait"] + whole["dispatch"] - self._in_barriers(begin, end)
        rows.append(
            "host_sync",
            {
                "thread": np.full(len(step), self.thread),
                "step": self.number[step],
                "tail": step == len(self.ends),
                "kind": [known[number][1] for number in place.tolist()],
                "closure": np.zeros(len(step), bool),
                "count": count,
                "duration_ns": (part * blocked).astype(np.int64),
                "compile_ns": (part * outside).astype(np.int64),
                **_columns([known[number][0] for number in place.tolist()]),
            },
        )

    @property
    def _eager(self) -> bool:
        """Whether operators are launched one by one."""
        alone = len(self.graphs.begin) - len(self.barriers.begin) - len(self.reads.begin)
        return alone >= max(_MANY, _MOST * len(self.graphs.begin))

    def compile_times(self, compiled: Sequence[Compiled]) -> list[Timed]:
        """When each graph was compiled, in the form of the step log, and which graph it was."""
        inside = covering(self.barriers.begin, self.barriers.end, self.compiled) >= 0
        other = _OPERATOR if self._eager else _READ
        during = [_BARRIER if at_barrier else other for at_barrier in inside]
        if self.calls:
            during = [_CALL] * len(compiled)
        sites, steps = (
            self.frames.sites(self.compiled, during),
            self.step_of(self.compiled).tolist(),
        )
        return [
            Timed(
                thread=self.thread,
                step=step,
                during=what,
                end_ns=each.end_ns,
                duration_ns=each.end_ns - each.begin_ns,
                graph_hash=each.graph_hash,
                site=replace(site, via=each.function or site.via),
            )
            for each, what, site, step in zip(compiled, during, sites, steps, strict=True)
        ]


def _columns(sites: Sequence[CallSite]) -> Columns:
    rows = [site.columns() for site in sites]
    return {name: [row[name] for row in rows] for name in CallSite().columns()}


def _count(instants: Times, begin: Times, end: Times) -> wire.Ints:
    """How many of these instants, which are sorted, are in each span."""
    return np.searchsorted(instants, end) - np.searchsorted(instants, begin)
