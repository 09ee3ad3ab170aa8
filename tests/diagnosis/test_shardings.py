"""Programs for several devices, from evidence made by hand."""

from __future__ import annotations

from typing import Any

from tests.support import Row, complete, step
from xladoctor.diagnosis.counts import counts
from xladoctor.diagnosis.interface import Count
from xladoctor.diagnosis.sharding_use import DividedArray, DividedProgram
from xladoctor.diagnosis.shardings import shardings
from xladoctor.evidence.interface import Evidence

TRAIN = "/home/ada/train.py"


def module(program: int, name: str = "jit_step", partitions: int = 8) -> Row:
    graph = {"process": 0, "program_id": program, "name": name, "graph_hash": f"module {program}"}
    return {**graph, "partitions": partitions, "mesh": "data=4, model=2"}


def compilation(program: int, ordinal: int = 0, **columns: Any) -> Row:
    call = {"cause": "jit(step)", "launches": 11, "file": TRAIN, "line": 40, "function": "train"}
    number = {"index": program - 1, "ordinal": ordinal, "graph_hash": f"module {program}"}
    return {"process": 0, "thread": 1, "step": 0, "via": "", **call, **number, **columns}


def placed(number: int, path: str | None, spec: str = "('data', None)", **columns: Any) -> Row:
    sizes = {"type": "f32", "shape": [8, 8], "bytes": 256, "device_bytes": 64, "copies": 2}
    row = {"process": 0, "program_id": 1, "role": "argument", "number": number, **sizes}
    return {**row, "argument": path, "spec": spec, **columns}


def sent(line: int | None = 7, **columns: Any) -> Row:
    kind = {"kind": "all-gather", "reason": "reshard", "axes": "data", "bytes": 100, "times": 3}
    place = {"file": TRAIN if line else None, "line": line, "function": "loss", "via": ""}
    return {"process": 0, "program_id": 1, "instruction": "a", **kind, **place, **columns}


def evidence(**tables: list[Row]) -> Evidence:
    steps = [step(index) for index in range(10)]
    given = {"step": steps, "launch": [], "compilation": [compilation(1)], **tables}
    return complete(given, cwd="/home/ada")


def found(**tables: list[Row]) -> list[DividedProgram] | None:
    return shardings(evidence(**tables))


def first(**tables: list[Row]) -> DividedProgram:
    all_of = found(**{"hlo_module": [module(1)], "communication": [], **tables})
    assert all_of is not None
    return all_of[0]


def arrays(*rows: Row, **tables: list[Row]) -> list[tuple[str, int, str, str]]:
    def shown(each: DividedArray) -> tuple[str, int, str, str]:
        return each.path, each.arrays, each.spec, each.given

    return [shown(each) for each in first(placement=[*rows], **tables).arrays]


def result(number: int, path: str) -> Row:
    of = {"process": 0, "index": 0, "role": "result", "number": number, "argument": path}
    return {**of, "shape": "f32[8,8]", "bytes": 256, "file": TRAIN, "line": 3, "via": ""}


def test_without_a_compiled_program_nothing_is_known() -> None:
    assert found() is None


def test_programs_for_one_device_are_none() -> None:
    assert found(hlo_module=[module(1, partitions=1)]) == []


def test_arrays_that_differ_by_numbers_alone_are_together() -> None:
    layers = [placed(n, f"state[0].params['layer{n}']['w']") for n in range(12)]
    assert arrays(*layers, placed(12, "batch", "(None, None)"), placed(13, None)) == [
        ("state[0].params['layer*']['w']", 12, "('data', None)", ""),
        ("batch", 1, "(None, None)", ""),
        ("f32[8,8]", 1, "('data', None)", ""),
    ]


def test_a_layer_that_is_divided_otherwise_stands_alone() -> None:
    layers = [placed(n, f"w[{n}]") for n in range(3)]
    assert arrays(*layers, placed(3, "w[3]", "(None, None)")) == [
        ("w[*]", 3, "('data', None)", ""),
        ("w[3]", 1, "(None, None)", ""),
    ]


def test_a_result_is_listed_where_it_is_divided_otherwise_than_its_argument() -> None:
    given = [placed(0, "params['a']"), placed(1, "params['b']", "(None, None)")]
    results = [placed(n, None, "('data', None)", role="result") for n in range(2)]
    named = [result(0, "result[0]['a']"), result(1, "result[0]['b']")]
    assert arrays(*given, *results, call_array=named)[2:] == [
        ("result[0]['b']", 1, "('data', None)", "(None, None)")
    ]


def test_a_result_without_a_path_is_held_against_all_arguments_of_its_type() -> None:
    given = [placed(0, "params['a']"), placed(1, "params['b']", "(None, None)")]
    assert arrays(*given, placed(0, None, role="result"))[2:] == []
    other = placed(0, None, "(None, 'model')", role="result")
    assert arrays(*given, other)[2:] == [("f32[8,8]", 1, "(None, 'model')", "")]
    assert arrays(given[0], other)[1:] == [("f32[8,8]", 1, "(None, 'model')", "")]


def test_what_moves_is_added_up_by_line() -> None:
    rows = [
        sent(),
        sent(bytes=10, times=1),
        sent(9, axes="", group=4),
        sent(None, kind="all-to-all"),
    ]
    (gathered, unnamed, lost) = first(communication=rows).moved
    assert (gathered.bytes, gathered.times, gathered.axes) == (310, 4, "data")
    assert gathered.location is not None
    assert (gathered.location.file, gathered.location.line) == ("train.py", 7)
    assert (unnamed.axes, lost.kind, lost.location) == ("4 devices", "all-to-all", None)


def test_of_several_compilations_that_counts_which_ran_most() -> None:
    compiled = [compilation(1), compilation(2, 1), compilation(3, 10)]
    modules = [module(n) for n in (1, 2, 3)]
    moved = [sent(program_id=n, bytes=n) for n in (1, 2, 3)]
    program = first(hlo_module=modules, compilation=compiled, communication=moved)
    assert (program.variants, program.bytes, program.resharded) == (3, 6, 6)


def test_runs_a_step_are_launches_by_steps() -> None:
    assert first(communication=[sent()]).runs_a_step == 1.1  # with barriers, each ends a step
    launch = {"process": 0, "count": 11, "work": 1, "steps": 10, "file": TRAIN, "line": 40}
    begun = [{**launch, "function": "train", "via": ""}]
    assert first(communication=[sent()], launch=begun).runs_a_step == 1.0


def test_a_single_launch_is_the_only_one_where_no_other_line_launches_the_program() -> None:
    once = [compilation(1, launches=1), compilation(2, cause="jit(other)", line=50)]
    launch = {"process": 0, "work": 1, "steps": 0, "file": TRAIN, "function": "train", "via": ""}
    own, other = {**launch, "count": 1, "line": 40}, {**launch, "count": 11, "line": 50}

    def rate(*launches: Row) -> float | None:
        return first(communication=[sent()], compilation=once, launch=[*launches]).runs_a_step

    assert rate() is None  # nothing says what was launched
    assert rate(own, other) == 0.0
    assert rate(own, other, {**other, "line": 60}) is None  # by that line, perhaps


def test_what_moves_most_in_a_step_is_first() -> None:
    modules = [module(1), module(2, "jit_rare"), module(3, "jit_unknown")]
    rare = compilation(2, cause="jit(rare)", launches=2, line=50)
    moved = [sent(), sent(program_id=2, bytes=500), sent(program_id=3, bytes=9000)]
    all_of = found(hlo_module=modules, compilation=[compilation(1), rare], communication=moved)
    assert all_of is not None
    assert [each.name for each in all_of] == ["step", "rare", "unknown"]


# Counts


def count(name: str, **tables: list[Row]) -> Count | None:
    given = evidence(**{"hlo_module": [module(1)], "communication": [], **tables})
    return next((each for each in counts(given, None) if each.name == name), None)


def test_resharding_counts_by_how_often_a_step_runs_the_program() -> None:
    rows = [sent(), sent(8, reason="asked", bytes=10), sent(9, reason="sums"), sent(7, bytes=1)]
    counted = count("resharded_bytes_per_step", communication=rows)
    assert counted is not None
    assert (counted.value, counted.reason) == (round(333 * 1.1, 4), None)
    named = [(each.location and each.location.line, each.what) for each in counted.consumers]
    assert named == [(7, "all-gather data"), (8, "all-gather data")]


def test_resharding_in_a_program_that_may_be_in_steps_is_a_part_or_unknown() -> None:
    modules = [module(1), module(2, "jit_other")]
    both = [sent(), sent(program_id=2)]
    counted = count("resharded_bytes_per_step", hlo_module=modules, communication=both)
    assert counted is not None
    assert (counted.value, counted.reason) == (330.0, "how often a step runs other is not known")
    alone = count("resharded_bytes_per_step", hlo_module=modules, communication=both[1:])
    assert alone is not None
    assert alone.value is None


def test_share_of_large_arguments_that_each_device_has_whole() -> None:
    whole = {"bytes": 1 << 20, "device_bytes": 1 << 20, "copies": 8}
    rows = [
        placed(0, "w", "(None, None)", **whole),
        placed(1, "v", bytes=3 << 20, device_bytes=3 << 18),
        placed(2, "small", "(None, None)", copies=8),
        placed(0, None, "(None, None)", role="result", **whole),
    ]
    counted = count("replicated_share", placement=rows)
    assert counted is not None
    assert counted.value == 0.25
    assert [(each.what, each.value) for each in counted.consumers] == [("w", 0.25)]


def test_programs_for_one_device_have_no_such_counts() -> None:
    assert count("replicated_share", hlo_module=[module(1, partitions=1)]) is None
