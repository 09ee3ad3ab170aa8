"""Compilations in a timeline, and the modules that they made."""

from __future__ import annotations

from pathlib import Path

from tests.support import Row, rows
from tests.xspace import builder, generated
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.timeline.compiling import Compiled
from xladoctor.ingest.timeline.read import TimelineFile, read_timeline

GRAPH, CLIENT = "XLAGraphExecutor::Compile", "PjRtComputationClient::Compile"


def hlo(name: str) -> bytes:
    return generated.field(1, generated.field(1, name))


def compiled(space: builder.Space, *graphs: str | None, thread: str = "python") -> None:
    """Compilations one after the other, 10 µs each, 8 of them the client's."""
    line = space.plane("/host:CPU").line(thread)
    for number, graph in enumerate(graphs):
        begin = 20.0 * number
        stats = {} if graph is None else {"graph_hash": builder.Ref(graph)}
        line.event(GRAPH, begin, 10, **stats).event(CLIENT, begin + 1, 8)


def read(space: builder.Space, folder: Path) -> tuple[list[Compiled], list[Row], list[str]]:
    """The compilations, the modules and the notes."""
    path = folder / "vm_1.xplane.pb"
    path.write_bytes(space.bytes())
    ingested = Ingested()
    compilations = read_timeline(TimelineFile(path), Folders(), ingested.of(3)).compiled
    return list(compilations), rows(ingested.tables.get("hlo_module", {})), ingested.notes


def test_compilations_with_graph_and_the_time_of_the_client(tmp_path: Path) -> None:
    space = builder.Space()
    compiled(space, "a", None)
    compilations, _, _ = read(space, tmp_path)
    assert compilations == [Compiled(0, 10_000, "a", 8_000), Compiled(20_000, 30_000, None, 8_000)]


def test_compilation_that_the_window_cut_off_has_no_time(tmp_path: Path) -> None:
    space = builder.Space()
    space.plane("/host:CPU").line("python").event(GRAPH, 5, 10, graph_hash="a")
    assert read(space, tmp_path)[0] == [Compiled(5_000, 15_000, "a", None)]


def test_compilations_of_all_threads_come_in_order_of_time(tmp_path: Path) -> None:
    space = builder.Space()
    space.plane("/host:CPU").line("pt_autograd_0").event(GRAPH, 15, 3, graph_hash="b")
    compiled(space, "a", "c")
    assert [compilation.graph_hash for compilation in read(space, tmp_path)[0]] == ["a", "b", "c"]


def test_modules_get_the_hash_of_their_compilation_in_order(tmp_path: Path) -> None:
    space = builder.Space()
    compiled(space, "first", "second")
    space.hlo(12, "b", hlo("b"))
    space.hlo(11, "a", hlo("a"))
    _, modules, notes = read(space, tmp_path)
    joined = [
        (row["process"], row["program_id"], row["name"], row["graph_hash"]) for row in modules
    ]
    assert joined == [(3, 11, "a", "first"), (3, 12, "b", "second")]
    assert notes == []


def test_module_from_before_the_window_has_no_hash(tmp_path: Path) -> None:
    space = builder.Space()
    compiled(space, "inside")
    space.hlo(1, "earlier", hlo("earlier"))
    space.hlo(2, "inside", hlo("inside"))
    assert [row["graph_hash"] for row in read(space, tmp_path)[1]] == [None, "inside"]


def test_fewer_modules_than_compilations_are_not_joined(tmp_path: Path) -> None:
    space = builder.Space()
    compiled(space, "a", "b")
    space.hlo(1, "a", hlo("a"))
    _, modules, notes = read(space, tmp_path)
    assert [row["graph_hash"] for row in modules] == [None]
    assert notes == [
        f"{tmp_path / 'vm_1.xplane.pb'}: 1 modules for 2 compilations; modules not joined"
    ]


def test_the_number_in_a_modules_name_counts_not_its_key(tmp_path: Path) -> None:
    space = builder.Space()
    space.plane("/host:CPU").line("python").event("train", 0, 5, step_num=1)
    space.hlo(6, "jit_step", hlo("jit_step"), key=2)
    assert [row["program_id"] for row in read(space, tmp_path)[1]] == [6]


def test_a_timeline_without_modules_is_not_a_defect(tmp_path: Path) -> None:
    space = builder.Space()
    compiled(space, "a")
    _, modules, notes = read(space, tmp_path)
    assert (modules, notes) == ([], [])
