"""Compilations of the analysis log, the step log and the timeline, brought together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Row, ingested, rows, step
from xladoctor.ingest import compilations
from xladoctor.ingest.compilations import Timed
from xladoctor.ingest.frames import CallSite, Folders, Frame
from xladoctor.ingest.gathered import Gathered
from xladoctor.ingest.graph_log import Block, GraphLog
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.timeline.compiling import Compiled

PROGRAM = "/home/ada/train.py"
SYNC, READ = "user torch_xla.sync", "most likely user code trying to access tensor value"


def block(kind: str, graph: str, line: int = 40, offset: int = 0, cause: str = SYNC) -> Block:
    frames = [Frame(PROGRAM, line, "train")]
    return Block(kind, offset, cause, graph, 2, 3, frames, at_barrier=cause == SYNC)


def compiled(graph: str, **where: Any) -> Block:
    return block("compilation", graph, **where)


def executed(graph: str, **where: Any) -> Block:
    return block("execution", graph, **where)


def timed(duration: int, step: int = 0, during: str = "barrier", line: int = 40) -> Timed:
    site = CallSite(PROGRAM, line, "train", via="sync")
    return Timed(1, step, during, 1000 + duration, duration, site=site)


def in_timeline(*graphs: tuple[str, int]) -> list[Compiled]:
    """What the timeline shows of compilations: graph and duration of each."""
    return [
        Compiled(10_000 * n, 10_000 * n + 9_500, graph, lasted)
        for n, (graph, lasted) in enumerate(graphs)
    ]


def joined(
    blocks: list[Block] | None,
    times: list[Timed],
    timeline: list[Compiled] | None = None,
    **tables: list[Row],
) -> tuple[list[Row], list[Row]]:
    """The compilations and the executions."""
    steps, result = Gathered(), Ingested()
    for name, columns in ingested(tables).tables.items():
        steps.extend(name, columns)
    log = None if blocks is None else GraphLog(tuple(blocks), 0)
    compilations.joined(log, times, timeline or [], Folders(), steps).move(result.of(0))
    return rows(result.tables.get("compilation", {})), rows(result.tables.get("execution", {}))


def graphs_and_times(compilations: list[Row]) -> list[tuple[str | None, int | None]]:
    return [(row["graph_hash"], row["duration_ns"]) for row in compilations]


def test_as_many_blocks_as_times_are_joined_in_order() -> None:
    compilations, _ = joined([compiled("a"), executed("a"), compiled("b")], [timed(7), timed(9, 1)])

    assert compilations[1] == {
        "process": 0,
        "thread": 1,
        "index": 1,
        "step": 1,
        "ordinal": 1,
        "launches": 1,
        "graph_hash": "b",
        "cause": SYNC,
        "inputs": 2,
        "outputs": 3,
        "memory_bytes": None,
        "callbacks": None,
        "cached": None,
        "compile_id": None,
        "end_ns": 1009,
        "duration_ns": 9,
        "file": PROGRAM,
        "line": 40,
        "function": "train",
        "user_file": None,
        "user_line": None,
        "user_function": None,
        "via": "",
        "callers": "",
    }
    assert graphs_and_times(compilations) == [("a", 7), ("b", 9)]


def test_ordinal_counts_the_launches_of_the_same_call_site() -> None:
    blocks = [
        compiled("a"),
        executed("a"),
        executed("a"),
        executed("z", line=50),
        compiled("b"),
        executed("b"),
        compiled("c", line=50),
    ]
    compilations, executions = joined(blocks, [])
    assert [row["ordinal"] for row in compilations] == [0, 2, 1]
    assert [row["launches"] for row in compilations] == [3, 3, 1]
    assert [(row["index"], row["graph_hash"], row["line"]) for row in executions] == [
        (0, "a", 40),
        (1, "a", 40),
        (2, "z", 50),
        (3, "b", 40),
    ]


def test_ordinal_of_a_read_counts_the_reads_of_its_line() -> None:
    """Twelve a step, in two of five steps; the first three of the second step compiled."""
    at = CallSite(PROGRAM, 50, "train", via="").columns()
    reads = [{"process": 0, "thread": 1, "step": step, "count": 12, **at} for step in (1, 3)]
    blocks = [compiled(graph, line=50, cause=READ) for graph in "abc"]
    times = [timed(7 + n, step=3, during="read") for n in range(3)]
    steps = [step(i, log_offset=100) for i in range(5)]
    compilations, _ = joined(blocks, times, step=steps, host_sync=reads)
    assert [(row["ordinal"], row["launches"]) for row in compilations] == [
        (12, 24),
        (13, 24),
        (14, 24),
    ]


def test_log_alone_gives_compilations_without_times() -> None:
    compilations, _ = joined([compiled("a")], [])
    assert graphs_and_times(compilations) == [("a", None)]
    assert (compilations[0]["thread"], compilations[0]["end_ns"]) == (None, None)


@pytest.mark.parametrize("blocks", [None, []])
def test_times_alone_give_compilations_without_graphs(blocks: list[Block] | None) -> None:
    (row,), executions = joined(blocks, [timed(7, step=4, during="read", line=43)])

    assert (row["graph_hash"], row["cause"], row["inputs"]) == (None, "read", None)
    assert (row["step"], row["file"], row["line"], row["via"]) == (4, PROGRAM, 43, "sync")
    assert executions == []


def test_timeline_names_the_graph_of_a_time_without_a_block() -> None:
    compilations, _ = joined([], [timed(7000)], timeline=in_timeline(("a", 7001)))
    assert graphs_and_times(compilations) == [("a", 7000)]


def test_where_numbers_differ_the_timeline_tells_which_block_has_which_time() -> None:
    compilations, _ = joined(
        [compiled("a"), compiled("c")],
        [timed(7000), timed(8000), timed(9000)],  # autograd's thread compiled b: no block
        timeline=in_timeline(("a", 7001), ("b", 8001), ("c", 9001)),
    )
    assert graphs_and_times(compilations) == [("a", 7000), ("c", 9000), ("b", 8000)]
    assert [row["index"] for row in compilations] == [0, 1, 2]


def test_compilations_before_the_timeline_s_window_get_no_graph_from_it() -> None:
    compilations, _ = joined(None, [timed(5000), timed(9000)], timeline=in_timeline(("b", 9001)))
    assert graphs_and_times(compilations) == [(None, 5000), ("b", 9000)]


def test_compilation_cut_off_by_the_windows_end_names_nothing() -> None:
    timeline = [Compiled(0, 9_500, "a", None), Compiled(10_000, 19_500, "b", 9001)]
    compilations, _ = joined(None, [timed(7000), timed(9000)], timeline)
    assert graphs_and_times(compilations) == [(None, 7000), ("b", 9000)]


def test_duration_more_than_two_percent_off_is_another_compilation() -> None:
    for duration, graph in ((10_200, "a"), (10_201, None), (9_800, "a"), (9_799, None)):
        compilations, _ = joined(None, [timed(10_000)], timeline=in_timeline(("a", duration)))
        assert graphs_and_times(compilations) == [(graph, 10_000)]


STEPS = [step(i, log_offset=100 * (i + 1)) for i in range(3)]


def test_without_a_timeline_the_step_tells_which_block_has_which_time() -> None:
    compilations, _ = joined(
        [compiled("a", offset=10), compiled("c", offset=250)],
        [timed(7, step=0), timed(8, step=1), timed(9, step=2)],
        step=STEPS,
    )
    assert graphs_and_times(compilations) == [("a", 7), ("c", 9), (None, 8)]


def test_in_one_step_barriers_and_reads_are_told_apart() -> None:
    compilations, _ = joined(
        [compiled("a", offset=10, cause=READ), compiled("b", offset=20)],
        [timed(7, during="barrier"), timed(8, during="read"), timed(9, step=1)],
        step=STEPS,
    )
    assert graphs_and_times(compilations) == [("a", 8), ("b", 7), (None, 9)]


def test_what_stays_ambiguous_is_not_joined() -> None:
    compilations, _ = joined([compiled("a", offset=10)], [timed(7), timed(8)], step=STEPS)
    assert graphs_and_times(compilations) == [("a", None), (None, 7)]  # two were compiled


def test_with_several_threads_the_log_s_size_tells_no_step() -> None:
    steps = [*STEPS, step(0, thread=2, log_offset=150)]
    compilations, _ = joined([compiled("a", offset=10)], [timed(7), timed(8, 1)], step=steps)
    assert graphs_and_times(compilations) == [("a", None), (None, 7)]  # two were compiled


# How often a call site launched before it compiled, where the log has no executions


def launched(times: list[Timed], **tables: list[Row]) -> list[tuple[int, int | None]]:
    return [(row["ordinal"], row["launches"]) for row in joined([], times, None, **tables)[0]]


def test_barrier_s_launches_are_the_barriers_of_its_line() -> None:
    place = {"file": PROGRAM, "line": 40, "via": "sync"}
    steps = [step(i, **place) for i in range(6)] + [step(6, line=60), step(7, tail=True)]
    times = [timed(7, step=0), timed(8, step=4)]
    assert launched(times, step=steps) == [(0, 6), (4, 6)]


def test_launches_of_another_line_are_the_steps_since_it_first_compiled() -> None:
    steps = [step(i) for i in range(10)]
    times = [timed(7, step=2, line=43), timed(8, step=5, line=43)]
    assert launched(times, step=steps) == [(0, 8), (3, 8)]


def test_without_steps_each_compilation_counts_as_a_launch() -> None:
    blocks = [compiled("a"), compiled("b"), compiled("c", line=50)]
    compilations, _ = joined(blocks, [])
    assert [(row["ordinal"], row["launches"]) for row in compilations] == [
        (0, None),
        (1, None),
        (0, None),
    ]
