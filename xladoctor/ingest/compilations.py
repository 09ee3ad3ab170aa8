"""Joins the records of compilations in the analysis log with their times.

The analysis log has graph, cause and frames, but no time, and misses what autograd's own thread
compiles. The step log has every compilation with its time, but no graph. The modules have inputs
and outputs, in the order of compilation. The timeline has graph and time, but only inside its
window. If the two logs differ in number, the modules show which compilations the analysis log
missed. Without modules, records are matched by the timeline's graphs and by the step that each is
in. What stays ambiguous is not joined.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from xladoctor.ingest import launches
from xladoctor.ingest.frames import NOWHERE, CallSite, Folders
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import Block, GraphLog

if TYPE_CHECKING:
    from xladoctor.ingest.timeline.compiling import Compiled

_SAME_DURATION = 0.02  # the two clocks are read within microseconds of each other

#: Inputs and outputs of a graph; None if unknown.
Numbers = tuple[int | None, int | None]


def joined(
    log: GraphLog | None,
    times: Sequence[Timed],
    compiled: Sequence[Compiled],
    folders: Folders,
    steps: Gathered,
    modules: Sequence[Numbers] = (),
) -> Gathered:
    """``compilation`` and ``execution`` of one process.

    Args:
        times: its compilations in the step log.
        compiled: the compilations in its timeline, in order of time.
        folders: where its Python keeps installed packages.
        steps: its step log, or what a timeline shows of one.
        modules: inputs and outputs of the modules that it compiled, in order.
    """
    times = _with_graphs(times, compiled)
    blocks = log.blocks if log else ()
    logged = [block for block in blocks if block.kind == "compilation"]
    pairs = _pair(logged, times, steps, modules)
    locate = _Locator(folders)
    by_steps = launches.from_steps(steps)
    by_blocks = launches.from_blocks(blocks, locate) if len(logged) < len(blocks) else None
    made = Gathered()
    for index, (block, row) in enumerate(zip(logged, pairs, strict=True)):
        timed, site = Timed() if row is None else times[row], locate(block)
        counts = by_blocks[index] if by_blocks else by_steps(site, timed.thread, timed.step)
        place = {**site.columns(), "callers": locate.callers(block)}
        _add(index, block, timed, place, counts, made)
    for index, row in enumerate(_unlogged(len(times), pairs), len(logged)):
        timed, site = times[row], locate.known(times[row].site)
        counts = (
            by_steps(site, timed.thread, timed.step)
            if timed.ordinal is None
            else (timed.ordinal, timed.launches)
        )
        place = {**site.columns(), "callers": None}
        _add(index, None, timed, place, counts, made)
    for index, block in enumerate(block for block in blocks if block.kind == "execution"):
        made.add(
            "execution",
            index=index,
            graph_hash=block.graph_hash,
            cause=block.cause,
            inputs=block.inputs,
            outputs=block.outputs,
            **locate(block).columns(),
        )
    return made


def cause_of(function: str) -> str:
    """What requests the compilation of a function."""
    return f"jit({function})"


class Timed(NamedTuple):
    """A compilation in the step log, or in a timeline that is all there is."""

    thread: int | None = None
    step: int | None = None
    during: str | None = None
    end_ns: int | None = None
    duration_ns: int | None = None
    ordinal: int | None = None  # this and the next fields only if the framework reports launches
    launches: int | None = None
    compiled: str | None = None
    memory_bytes: int | None = None
    callbacks: int | None = None
    cached: bool | None = None
    graph_hash: str | None = None  # from the timeline
    site: CallSite = NOWHERE

    @property
    def cause(self) -> str | None:
        """What requested it: a function, if the framework compiles functions."""
        return cause_of(self.compiled) if self.compiled else self.during


class _Locator:
    """Finds the call sites of blocks; equal sites and stacks are kept once."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._sites: dict[CallSite, CallSite] = {}
        self._of_stacks: dict[int, CallSite] = {}  # by id: blocks share equal stacks and keep them

    def __call__(self, block: Block) -> CallSite:
        if id(block.frames) not in self._of_stacks:
            self._of_stacks[id(block.frames)] = self.known(self._folders.locate(block.frames))
        return self._of_stacks[id(block.frames)]

    def callers(self, block: Block) -> str | None:
        """The program's lines below the call site of a stack; None if the log has no frames."""
        lines = [
            f"{frame.file}:{frame.line}"
            for frame in block.frames
            if self._folders.is_user(frame.file)
        ]
        return " ".join(lines[1:]) if lines else None

    def known(self, site: CallSite) -> CallSite:
        """The first object equal to this site."""
        return self._sites.setdefault(site, site)


def unfinished(log: GraphLog, times: Sequence[Timed], lived: tuple[int, int]) -> list[Timed]:
    """The compilations that were running when the program was stopped.

    The analysis log names a graph before it is compiled; the step log does so after the call that
    compiled it, and a save compiles several. All that is known of their time is that it lies
    between the last logged record and the program's end; it is divided evenly.

    Args:
        times: the compilations in the step log.
        lived: when the last logged step or cut ended, and when the program ended.
    """
    logged = sum(block.kind == "compilation" for block in log.blocks)
    more = logged - len(times)
    if more <= 0:
        return []
    began, ended = lived
    last = times[-1] if times else Timed(during="other", end_ns=began)
    duration = max(0, ended - max(began, last.end_ns or began)) // more
    return [last._replace(end_ns=ended, duration_ns=duration)] * more


def _with_graphs(times: Sequence[Timed], compiled: Sequence[Compiled]) -> list[Timed]:
    """The timed compilations with their graph, from the timeline's event of the same duration."""
    found = list(times)
    events = (
        (compilation.client_ns, compilation.graph_hash)
        for compilation in compiled
        if compilation.client_ns is not None and compilation.graph_hash
    )
    event = next(events, None)
    for row, timed in enumerate(times):
        duration = timed.duration_ns or 0
        if event and abs(event[0] - duration) <= _SAME_DURATION * duration:
            found[row] = timed._replace(graph_hash=event[1])
            event = next(events, None)
    return found


def _pair(
    blocks: list[Block],
    times: list[Timed],
    log: Gathered,
    modules: Sequence[Numbers],
) -> list[int | None]:
    """The timed row of each block; None if unknown."""
    if len(blocks) == len(times):
        return list(range(len(times)))
    ends = _log_ends(log)
    steps = [_step_of(block, ends) for block in blocks]
    if len(modules) == len(times):
        by_modules = _pair_by_modules(blocks, steps, times, modules)
        if by_modules is not None:
            return by_modules
    by_hash: dict[str, deque[int]] = defaultdict(deque)
    for row, timed in enumerate(times):
        if timed.graph_hash:
            by_hash[timed.graph_hash].append(row)
    pairs = [
        made.popleft() if (made := by_hash.get(block.graph_hash)) else None for block in blocks
    ]
    _pair_by_step(blocks, steps, times, pairs)
    return pairs


def _unlogged(count: int, pairs: list[int | None]) -> Iterator[int]:
    """The rows that the log lacks; other rows without a block belong to unpaired blocks."""
    paired = set(pairs)
    rest = (row for row in range(count) if row not in paired)
    return islice(rest, max(0, count - len(pairs)))


def _pair_by_modules(
    blocks: list[Block], steps: list[int | None], times: list[Timed], modules: Sequence[Numbers]
) -> list[int | None] | None:
    """Pair each block with the next compilation of a matching module, in the same step.

    None if the log does not fit the order of the modules.
    """
    pairs: list[int | None] = []
    at = 0
    for block, step in zip(blocks, steps, strict=True):
        while at < len(modules) and not (
            agree((block.inputs, block.outputs), modules[at])
            and (step is None or times[at].step == step)
        ):
            at += 1
        if at == len(modules):
            return None
        pairs.append(at)
        at += 1
    return pairs


def agree(numbers: Numbers, others: Numbers) -> bool:
    """Whether two pairs of inputs and outputs can belong to one graph, as far as they are known."""
    return all(None in pair or pair[0] == pair[1] for pair in zip(numbers, others, strict=True))


def _step_of(block: Block, ends: list[tuple[int, int]]) -> int | None:
    at = bisect_right(ends, block.offset, key=lambda end: end[0])
    return ends[at][1] if at < len(ends) else None


def _pair_by_step(
    blocks: list[Block],
    steps: list[int | None],
    times: list[Timed],
    pairs: list[int | None],
) -> None:
    """Pair blocks and rows in the same step with the same kind of cause, if there are as many."""
    groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for index, (block, step) in enumerate(zip(blocks, steps, strict=True)):
        if pairs[index] is None:
            groups[step, block.at_barrier][0].append(index)
    taken = set(pairs)
    for row, timed in enumerate(times):
        if row not in taken:
            groups[timed.step, timed.during == "barrier"][1].append(row)
    for of_step, rows in groups.values():
        if len(of_step) == len(rows):
            for index, row in zip(of_step, rows, strict=True):
                pairs[index] = row


def _log_ends(log: Gathered) -> list[tuple[int, int]]:
    """The end of the analysis log at each step, in order; empty with several threads."""
    ends = [row for row in log.of("step", "log_offset", "index", "thread") if row[0]]
    if len({thread for _, _, thread in ends}) != 1:
        return []
    return sorted((end, index) for end, index, _ in ends)


def _add(
    index: int,
    block: Block | None,
    timed: Timed,
    place: dict[str, Any],
    counts: tuple[int, int | None],
    rows: Gathered,
) -> None:
    rows.add(
        "compilation",
        thread=timed.thread,
        index=index,
        step=timed.step,
        ordinal=counts[0],
        launches=counts[1],
        graph_hash=block.graph_hash if block else timed.graph_hash,
        cause=block.cause if block else timed.cause,
        inputs=block.inputs if block else None,
        outputs=block.outputs if block else None,
        memory_bytes=block.memory_bytes if block else timed.memory_bytes,
        callbacks=timed.callbacks,
        cached=timed.cached,
        compile_id=None,
        end_ns=timed.end_ns,
        duration_ns=timed.duration_ns,
        **place,
    )
