"""Joins the records of compilations: what the analysis log says of them, and when they were.

The log names graph, cause and frames, but no time, and misses what autograd's own thread compiles.
The step log has every compilation with its time, but no graph. The modules have inputs and outputs,
in the order of compilation. The timeline has graph and time, but only inside its window. Where the
first two differ in number, the modules tell which compilations the log missed; without them the
timeline names the graphs, and the step that each record lies in does the rest; what stays ambiguous
is not joined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from xladoctor.ingest import launches
from xladoctor.ingest.frames import CallSite, Folders
from xladoctor.ingest.interface import Columns, Ingested
from xladoctor.ingest.torch_xla.analysis_log import AnalysisLog, Block

if TYPE_CHECKING:
    from xladoctor.ingest.timeline.compiling import Compiled

_SAME_DURATION = 0.02  # the two clocks are read within microseconds of each other

Row = dict[str, Any]
#: Inputs and outputs of a graph; None if unknown.
Numbers = tuple[int | None, int | None]


def join(
    log: AnalysisLog | None,
    times: Columns,
    compiled: Sequence[Compiled],
    process: int,
    folders: Folders,
    ingested: Ingested,
    modules: Sequence[Numbers] = (),
) -> None:
    """Fill ``compilation`` and ``execution`` of one process.

    Args:
        log: its analysis log.
        times: columns of its compilations in the step log.
        compiled: those in its timeline, in order of time.
        process: its number.
        folders: where its Python keeps installed packages.
        ingested: where to; its ``step`` table is read.
        modules: inputs and outputs of the modules that it compiled, in order.
    """
    timed = [dict(zip(times, row, strict=True)) for row in zip(*times.values(), strict=True)]
    _name_graphs(timed, compiled)
    blocks = log.blocks if log else ()
    logged = [block for block in blocks if block.kind == "compilation"]
    pairs = _pair(logged, timed, process, ingested, modules)
    sites = {id(block): folders.locate(block.frames) for block in blocks}
    by_steps = launches.from_steps(process, ingested.tables.get("step", {}))
    by_blocks = launches.from_blocks(blocks, lambda block: sites[id(block)])
    for index, block in enumerate(logged):
        site, row = sites[id(block)], pairs.get(id(block), {})
        counts = by_blocks[id(block)] if len(logged) < len(blocks) else by_steps(site, row)
        _add(process, index, block, row, site, counts, ingested)
    for index, row in enumerate(_unlogged(timed, pairs, len(logged)), len(logged)):
        site = CallSite(*(row[name] for name in CallSite.__dataclass_fields__))
        _add(process, index, None, row, site, by_steps(site, row), ingested)
    executed = (block for block in blocks if block.kind == "execution")
    for index, block in enumerate(executed):
        _add_execution(process, index, block, sites[id(block)], ingested)


def with_unfinished(log: AnalysisLog, times: Columns, lived: tuple[int, int]) -> Columns:
    """Add the compilations that the program was in when it was stopped.

    The log names a graph before it is compiled, the step log when the call that compiled it has
    ended: a save compiles several. What is known of their time is that it lay between everything
    else that was logged and the program's end; it is divided evenly.

    Args:
        times: columns of the compilations in the step log.
        lived: when the last step or cut that was logged ended, and when the program did.
    """
    logged = sum(block.kind == "compilation" for block in log.blocks)
    more = logged - len(times.get("end_ns", ()))
    if more <= 0:
        return times
    began, ended = lived
    row = {"thread": None, "step": None, "during": "other", **CallSite().columns(),
           **{name: values[-1] for name, values in times.items()}}  # fmt: skip
    began = max(began, row.get("end_ns", began))
    row |= {"end_ns": ended, "duration_ns": max(0, ended - began) // more}
    return {name: [*times.get(name, ()), *[value] * more] for name, value in row.items()}


def _name_graphs(timed: list[Row], compiled: Sequence[Compiled]) -> None:
    """Give timed compilations the graph hash of the timeline's event of the same duration."""
    events = ((compilation.client_ns, compilation.graph_hash) for compilation in compiled
              if compilation.client_ns is not None and compilation.graph_hash)  # fmt: skip
    event = next(events, None)
    for row in timed:
        if event and abs(event[0] - row["duration_ns"]) <= _SAME_DURATION * row["duration_ns"]:
            row["graph_hash"] = event[1]
            event = next(events, None)


def _pair(
    blocks: list[Block], timed: list[Row], process: int, ingested: Ingested,
    modules: Sequence[Numbers],
) -> dict[int, Row]:  # fmt: skip
    """The timed row of each block, by the block's identity."""
    if len(blocks) == len(timed):
        return {id(block): row for block, row in zip(blocks, timed, strict=True)}
    ends = _log_ends(process, ingested.tables.get("step", {}))
    if len(modules) == len(timed):
        by_modules = _pair_by_modules(blocks, timed, ends, modules)
        if by_modules is not None:
            return by_modules
    pairs: dict[int, Row] = {}
    by_hash: dict[str, list[Row]] = defaultdict(list)
    for row in timed:
        if row.get("graph_hash"):
            by_hash[row["graph_hash"]].append(row)
    for block in blocks:
        if by_hash[block.graph_hash]:
            pairs[id(block)] = by_hash[block.graph_hash].pop(0)
    taken = {id(row) for row in pairs.values()}
    _pair_by_step([block for block in blocks if id(block) not in pairs],
                  [row for row in timed if id(row) not in taken], ends, pairs)  # fmt: skip
    return pairs


def _unlogged(timed: list[Row], pairs: dict[int, Row], logged: int) -> list[Row]:
    """The compilations that the log lacks; other rows without a block belong to unpaired blocks."""
    paired = {id(row) for row in pairs.values()}
    rest = [row for row in timed if id(row) not in paired]
    return rest[: max(0, len(timed) - logged)]


def _pair_by_modules(
    blocks: list[Block], timed: list[Row], ends: list[tuple[int, int]], modules: Sequence[Numbers]
) -> dict[int, Row] | None:
    """Each block with the next compilation that made a module like it, in the same step.

    None where the log does not fit the order of the modules.
    """
    pairs: dict[int, Row] = {}
    at = 0
    for block in blocks:
        step = _step_of(block, ends)
        while at < len(timed) and not (
            agree((block.inputs, block.outputs), modules[at])
            and (step is None or timed[at]["step"] == step)
        ):
            at += 1
        if at == len(timed):
            return None
        pairs[id(block)] = timed[at]
        at += 1
    return pairs


def agree(numbers: Numbers, others: Numbers) -> bool:
    """Whether two pairs of inputs and outputs can be of one graph, as far as known."""
    return all(None in pair or pair[0] == pair[1] for pair in zip(numbers, others, strict=True))


def _step_of(block: Block, ends: list[tuple[int, int]]) -> int | None:
    return next((index for end, index in ends if block.offset < end), None)


def _pair_by_step(
    blocks: list[Block], timed: list[Row], ends: list[tuple[int, int]], pairs: dict[int, Row]
) -> None:
    """Pair what is in the same step with the same kind of cause, where the numbers match."""
    groups: dict[Any, tuple[list[Block], list[Row]]] = defaultdict(lambda: ([], []))
    for block in blocks:
        groups[_step_of(block, ends), "sync" in block.true_cause()][0].append(block)
    for row in timed:
        groups[row["step"], row["during"] == "barrier"][1].append(row)
    for of_step, rows in groups.values():
        if len(of_step) == len(rows):
            pairs.update((id(block), row) for block, row in zip(of_step, rows, strict=True))


def _log_ends(process: int, steps: Columns) -> list[tuple[int, int]]:
    """Where the analysis log ended at each step, in order; empty with several threads."""
    rows: Iterable[tuple[Any, ...]] = zip(
        *(steps.get(key, ()) for key in ("process", "thread", "log_offset", "index")), strict=True
    )
    own = [row[1:] for row in rows if row[0] == process and row[2]]
    if len({thread for thread, _, _ in own}) != 1:
        return []
    return sorted((end, index) for _, end, index in own)


def _add(
    process: int, index: int, block: Block | None, row: Row, site: CallSite,
    counts: tuple[int, int | None],
    ingested: Ingested,
) -> None:  # fmt: skip
    ingested.add(
        "compilation", process=process, thread=row.get("thread"), index=index,
        step=row.get("step"), ordinal=counts[0], launches=counts[1],
        graph_hash=block.graph_hash if block else row.get("graph_hash"),
        cause=block.true_cause() if block else row.get("during"),
        inputs=block.inputs if block else None, outputs=block.outputs if block else None,
        memory_bytes=block.memory_bytes if block else None,
        end_ns=row.get("end_ns"), duration_ns=row.get("duration_ns"), **site.columns(),
    )  # fmt: skip


def _add_execution(
    process: int, index: int, block: Block, site: CallSite, ingested: Ingested
) -> None:
    ingested.add(
        "execution", process=process, index=index, graph_hash=block.graph_hash,
        cause=block.true_cause(), inputs=block.inputs, outputs=block.outputs, **site.columns(),
    )  # fmt: skip
