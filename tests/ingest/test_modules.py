"""Which compilation made each module: built files, whole, in parts, and left behind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support import Row, rows
from tests.xspace import builder
from xladoctor.facts.run import ModulesFile, Process, PythonFolders
from xladoctor.ingest.frames import Folders
from xladoctor.ingest.interface import Ingested
from xladoctor.ingest.modules import read_modules
from xladoctor.ingest.protobuf_schema import message

Numbers = tuple[int, int]


def graph(inputs: int, outputs: int, *, listed: bool = True) -> bytes:
    """A module with this many parameters and results; not ``listed``: its root is the result."""
    proto = message("HloProto")()
    proto.hlo_module.name, proto.hlo_module.entry_computation_id = "SyncTensorsGraph.7", 1
    entry = proto.hlo_module.computations.add(id=1, name="main", root_id=99)
    for number in range(inputs):
        entry.instructions.add(opcode="parameter", parameter_number=number, id=number + 1)
    opcode = "tuple" if listed else "add"
    entry.instructions.add(opcode=opcode, id=99, operand_ids=[1] * outputs)
    return bytes(proto.SerializeToString())


def write(path: Path, modules: dict[int, Numbers | bytes]) -> None:
    space = builder.Space()
    for program, given in modules.items():
        proto = given if isinstance(given, bytes) else graph(*given)
        space.hlo(program, "SyncTensorsGraph.7", proto)
    path.write_bytes(space.bytes())


def compilations(numbers: Iterable[Numbers | None], process: int = 0) -> Ingested:
    """The table of compilations, each named after its position."""
    ingested = Ingested()
    for index, given in enumerate(numbers):
        inputs, outputs = given or (None, None)
        ingested.add(
            "compilation",
            process=process,
            graph_hash=f"h{index}" if given else None,
            inputs=inputs,
            outputs=outputs,
            end_ns=100 * index + 50,
            duration_ns=20,
        )
    return ingested


def recorded(*files: tuple[str, int]) -> Process:
    """What a process tells of its files of modules: the name of each, and compilations by then."""
    return Process(
        pid=1,
        frontend="torch_xla",
        versions={},
        used_device=True,
        settings={},
        devices=(),
        settings_lines={},
        folders=PythonFolders(standard=(), installed=()),
        ended=True,
        began_ns=0,
        ended_ns=1,
        modules=tuple(ModulesFile(file=name, compilations=until) for name, until in files),
    )


def joined(folder: Path, ingested: Ingested, *named: tuple[str, int]) -> dict[int, str | None]:
    """The hash that each module got; ``named`` are the files that the process' record names."""
    record = recorded(*named)
    modules = read_modules(folder, record, Folders(), ingested)
    modules.add(ingested.tables.get("compilation", {}), ingested.of(0))
    return {row["program_id"]: row["graph_hash"] for row in rows(ingested.tables["hlo_module"])}


ONE = "modules.xplane.pb"
MISSING = (
    "{}: {} of {} compiled modules cannot be distinguished from others; their causes are missing"
)


def test_modules_and_compilations_come_in_the_same_order(tmp_path: Path) -> None:
    numbers = [(2, 1), (2, 1), (3, 1)]
    write(tmp_path / ONE, {5: (2, 1), 6: (2, 1), 9: (3, 1)})
    ingested = compilations(numbers)
    assert joined(tmp_path, ingested, (ONE, 3)) == {5: "h0", 6: "h1", 9: "h2"}
    assert ingested.notes == []


def test_every_table_of_a_module_has_its_hash(tmp_path: Path) -> None:
    write(tmp_path / ONE, {5: (2, 1)})
    ingested = compilations([(2, 1)])
    joined(tmp_path, ingested, (ONE, 1))
    for name, count in (("hlo_module", 1), ("hlo_parameter", 2), ("hlo_instruction", 3)):
        assert ingested.tables[name]["graph_hash"] == ["h0"] * count


def test_compilations_that_threads_logged_late_are_in_the_order_of_their_begin(
    tmp_path: Path,
) -> None:
    write(tmp_path / ONE, {1: (2, 1), 2: (2, 1)})
    ingested = compilations([(2, 1), (2, 1)])
    ingested.tables["compilation"]["duration_ns"] = [20, 140]  # the second began before the first
    assert joined(tmp_path, ingested, (ONE, 2)) == {1: "h1", 2: "h0"}


def test_what_is_not_known_of_a_module_or_compilation_contradicts_nothing(tmp_path: Path) -> None:
    write(tmp_path / ONE, {1: (2, 1), 2: graph(2, 2, listed=False), 3: (4, 1)})
    ingested = compilations([(2, 1), (2, 1), None])
    assert joined(tmp_path, ingested, (ONE, 3)) == {1: "h0", 2: "h1", 3: "module 3"}


def test_compilation_without_a_hash_is_named_after_its_module(tmp_path: Path) -> None:
    write(tmp_path / ONE, {7: (2, 1)})
    ingested = compilations([None])
    assert joined(tmp_path, ingested, (ONE, 1)) == {7: "module 7"}
    assert ingested.tables["compilation"]["graph_hash"] == ["module 7"]


# Evicted modules


def test_numbers_of_inputs_and_outputs_tell_modules_where_others_were_thrown_away(
    tmp_path: Path,
) -> None:
    write(tmp_path / ONE, {2: (3, 1), 3: (4, 1)})
    ingested = compilations([(2, 1), (3, 1), (4, 1)])
    assert joined(tmp_path, ingested, (ONE, 3)) == {2: "h1", 3: "h2"}
    assert ingested.notes == []


def test_ambiguous_modules_are_left_without_a_compilation(tmp_path: Path) -> None:
    write(tmp_path / ONE, {2: (2, 1), 3: (4, 1)})
    ingested = compilations([(2, 1), (2, 1), (4, 1)])
    assert joined(tmp_path, ingested, (ONE, 3)) == {2: None, 3: "h2"}
    assert ingested.notes == [MISSING.format(tmp_path.name, 1, 2)]


def test_order_that_the_numbers_contradict_is_not_believed(tmp_path: Path) -> None:
    write(tmp_path / ONE, {1: (2, 1), 2: (9, 1)})
    ingested = compilations([(2, 1), (3, 1)])
    assert joined(tmp_path, ingested, (ONE, 2)) == {1: "h0", 2: None}
    assert ingested.notes == [MISSING.format(tmp_path.name, 1, 2)]


def test_module_of_unknown_results_is_never_told_by_its_numbers(tmp_path: Path) -> None:
    write(tmp_path / ONE, {1: graph(2, 2, listed=False)})
    assert joined(tmp_path, compilations([(2, 1), None]), (ONE, 2)) == {1: None}


# Several files


def test_modules_new_in_a_file_are_of_the_compilations_since_the_previous_file(
    tmp_path: Path,
) -> None:
    write(tmp_path / ONE, {1: (2, 1), 2: (2, 1)})
    write(tmp_path / "modules-3.xplane.pb", {2: (2, 1), 3: (2, 1)})
    write(tmp_path / "modules-5.xplane.pb", {3: (2, 1), 4: (2, 1), 5: (2, 1)})
    ingested = compilations([(2, 1)] * 5)
    named = [("modules-5.xplane.pb", 5), (ONE, 2), ("modules-3.xplane.pb", 3)]
    assert joined(tmp_path, ingested, *named) == {n: f"h{n - 1}" for n in range(1, 6)}
    assert ingested.notes == []


def test_modules_thrown_away_between_two_files_leave_the_rest_in_order(tmp_path: Path) -> None:
    write(tmp_path / ONE, {1: (2, 1)})
    write(tmp_path / "modules-4.xplane.pb", {3: (2, 1), 4: (7, 1)})  # 2 was made and thrown away
    ingested = compilations([(2, 1), (2, 1), (2, 1), (7, 1)])
    named = [(ONE, 1), ("modules-4.xplane.pb", 4)]
    assert joined(tmp_path, ingested, *named) == {1: "h0", 3: None, 4: "h3"}


def test_modules_from_before_the_capture_have_no_compilation_and_need_none(tmp_path: Path) -> None:
    write(tmp_path / "modules-0.xplane.pb", {1: (2, 1), 2: (2, 1)})
    write(tmp_path / ONE, {1: (2, 1), 2: (2, 1), 3: (2, 1)})
    ingested = compilations([(2, 1)])
    named = [("modules-0.xplane.pb", 0), (ONE, 1)]
    assert joined(tmp_path, ingested, *named) == {1: None, 2: None, 3: "h0"}
    assert ingested.notes == []


# A process that was killed


def test_process_that_was_killed_named_no_file(tmp_path: Path) -> None:
    write(tmp_path / ONE, {1: (2, 1), 2: (3, 1)})
    assert joined(tmp_path, compilations([(2, 1), (3, 1)])) == {1: "h0", 2: "h1"}


def test_killed_process_wrote_the_file_without_a_number_before_those_with_one(
    tmp_path: Path,
) -> None:
    write(tmp_path / ONE, {1: (2, 1), 2: (2, 1)})
    write(tmp_path / "modules-3.xplane.pb", {2: (2, 1), 3: (2, 1)})
    write(tmp_path / "modules-0.xplane.pb", {})
    ingested = compilations([(2, 1)] * 4)  # the last one was not written any more
    for program, graph_hash in joined(tmp_path, ingested).items():
        assert graph_hash in (None, f"h{program - 1}")


def test_file_that_is_named_but_not_there_is_passed_over(tmp_path: Path) -> None:
    record = recorded((ONE, 2))
    assert read_modules(tmp_path, record, Folders(), Ingested()).files == ()


@pytest.mark.parametrize(
    "name", ["modules-².xplane.pb", "modules-٣.xplane.pb", "modules-x.xplane.pb"]
)
def test_file_may_have_any_number_in_its_name(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, {1: (2, 1)})
    assert joined(tmp_path, compilations([(2, 1)])) == {1: "h0"}


# Damage


def test_module_that_cannot_be_decoded_leaves_a_note_and_the_others(tmp_path: Path) -> None:
    write(tmp_path / ONE, {1: (2, 1), 2: b"\x0a\xff", 3: (4, 1)})
    ingested = compilations([(2, 1), (3, 1), (4, 1)])
    assert joined(tmp_path, ingested, (ONE, 3)) == {1: "h0", 3: "h2"}
    (note,) = ingested.notes
    assert note.startswith(f"{tmp_path / ONE}: module 2: unreadable HLO (")


@pytest.mark.parametrize("data", [b"", b"no timeline", b"\x0a\xff"])
def test_file_that_is_none_leaves_the_compilations_without_modules(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / ONE).write_bytes(data)
    ingested = compilations([(2, 1)])
    record = recorded((ONE, 1))
    modules = read_modules(tmp_path, record, Folders(), ingested)
    modules.add(ingested.tables["compilation"], ingested.of(0))
    assert ingested.tables.get("hlo_module", {}) == {}


def test_process_that_compiled_nothing(tmp_path: Path) -> None:
    write(tmp_path / ONE, {1: (2, 1)})
    assert joined(tmp_path, Ingested(), (ONE, 0)) == {1: None}


def test_lines_are_lent_between_the_modules_of_a_process(tmp_path: Path) -> None:
    known, bare = with_line("/home/ada/train.py"), with_line("")
    write(tmp_path / ONE, {1: known, 2: bare})
    ingested = compilations([(0, 1), (0, 1)])
    joined(tmp_path, ingested, (ONE, 2))
    files: list[Row] = [row for row in rows(ingested.tables["hlo_instruction"]) if row["op_type"]]
    assert [row["file"] for row in files] == ["/home/ada/train.py"] * 2


def with_line(file: str) -> bytes:
    proto = message("HloProto").FromString(graph(0, 1))
    added = proto.hlo_module.computations[0].instructions.add(opcode="add", id=1)
    added.metadata.op_type = "aten::add"
    added.metadata.source_file, added.metadata.source_line = file, 12
    return bytes(proto.SerializeToString())
