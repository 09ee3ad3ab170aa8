"""Dumps of graphs: as torch_xla 2.9 writes them, as older releases did, and cut."""

from __future__ import annotations

import io

import pytest

from xladoctor.ingest.console_text import Text, read_text
from xladoctor.ingest.graph_log import GraphLog

GRAPH = """[ScheduleSyncTensorsGraph]
TensorsGraphInfo:
{frames}
Root Hashes: ({root})

## BEGIN_GRAPH
IR {{
  %0 = f32[4]{{0}} xla::device_data(), xla_shape=f32[4]{{0}}
  %1 = f32[] aten::sum(%0), xla_shape=f32[], ROOT=0
}}
{hash}
## END_GRAPH

"""
BARRIER = "  sync (/opt/torch_xla/torch_xla.py:87)\n  train (/home/ada/train.py:8)\n"
LOADER = (
    "  sync (/opt/torch_xla/torch_xla.py:87)\n"
    "  next (/opt/torch_xla/distributed/parallel_loader.py:52)\n  train (/home/ada/train.py:6)\n"
)
READ = "  train (/home/ada/train.py:7)\n"


def graph(name: str, frames: str = BARRIER, hashed: bool = True) -> str:
    line = f"\nGraph Hash: {name}\n" if hashed else ""
    return GRAPH.format(frames=frames, root=name[::-1], hash=line)


def read(text: str, name: str = "graphs.txt") -> Text:
    return read_text(io.BytesIO(text.encode()), name)


def blocks(text: str) -> list[tuple[str, str, str]]:
    return [(block.kind, block.graph_hash, block.cause) for block in dumped(text).blocks]


def dumped(text: str) -> GraphLog:
    ((part,),) = read(text).processes.values()
    assert part.NAME == "a dump of graphs"
    assert part.graphs
    return part.graphs


def test_each_graph_is_a_launch_and_a_new_one_a_compilation() -> None:
    sync = "user torch_xla.sync"
    assert blocks(graph("aa") + graph("bb") + graph("aa")) == [
        ("compilation", "aa", sync),
        ("execution", "aa", sync),
        ("compilation", "bb", sync),
        ("execution", "bb", sync),
        ("execution", "aa", sync),
    ]


@pytest.mark.parametrize(
    ("frames", "cause"),
    [
        (BARRIER, "user torch_xla.sync"),
        (LOADER, "torch_xla.sync in parallel loader at step end"),
        (READ, "most likely user code trying to access tensor value"),
    ],
)
def test_causes_are_those_of_an_analysis_log(frames: str, cause: str) -> None:
    assert blocks(graph("aa", frames))[0] == ("compilation", "aa", cause)


def test_frames_are_those_of_the_graph() -> None:
    block = dumped(graph("aa", READ)).blocks[0]
    assert [(f.file, f.line, f.function) for f in block.frames] == [
        ("/home/ada/train.py", 7, "train")
    ]


def test_older_releases_name_a_graph_by_its_results() -> None:
    older = graph("aa", hashed=False).replace("Root Hashes", "Hashes")
    assert [name for _, name, _ in blocks(older)] == ["aa", "aa"]


@pytest.mark.parametrize("lines", range(20))
def test_what_was_cut_off_names_no_other_graph(lines: int) -> None:
    whole = (graph("aab") + graph("ccd")).splitlines(keepends=True)
    cut = whole[:-lines] if lines else whole
    assert {name for _, name, _ in blocks("".join(cut))} <= {"aab", "ccd", "dcc"}
    assert ("execution", "aab", "user torch_xla.sync") in blocks("".join(cut))


def test_other_output_between_graphs_is_read_too() -> None:
    report = "Metric: CompileTime\n  TotalSamples: 2\n  Accumulator: 03s000ms000.000us\n"
    text = read(f"epoch 1\n{graph('aa')}{report}epoch 2\n")
    assert text.kinds == ["a metrics report", "a dump of graphs"]


def test_dumps_of_several_processes_are_told_apart_by_their_names() -> None:
    assert list(read(graph("aa"), "graphs.txt.0").processes) == [""]
    assert list(read(graph("aa"), "graphs.txt.1").processes) == ["1"]


def test_quoted_and_numbered_graphs_are_read() -> None:
    plain = graph("aa") + graph("bb") + graph("aa")
    quoted = "".join(f"> {line}" for line in plain.splitlines(keepends=True))
    numbered = "".join(f"{n}: {line}" for n, line in enumerate(plain.splitlines(keepends=True), 1))
    assert blocks(quoted) == blocks(numbered) == blocks(plain)


def test_graphs_that_dynamo_hands_over_count_too() -> None:
    dynamo = graph("bb").replace("[ScheduleSyncTensorsGraph]", "[dynamo]")
    assert [name for _, name, _ in blocks(graph("aa") + dynamo)] == ["aa", "aa", "bb", "bb"]
