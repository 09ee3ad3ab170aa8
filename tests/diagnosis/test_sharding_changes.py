"""What differs in shardings and collectives between two runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support import location
from xladoctor.diagnosis.sharding_changes import changes, golden
from xladoctor.diagnosis.sharding_use import DividedArray, DividedProgram, Movement

CODE = "x = x @ w"


def gather(size: int = 1000, line: int = 20, code: str = CODE, **fields: Any) -> Movement:
    place = location("train.py", line, source=f"    {code}")
    return replace(Movement("data", "all-gather", "argument", size, 4, place), **fields)


def array(path: str, spec: str = "('data', None)", arrays: int = 1, **fields: Any) -> DividedArray:
    sizes = {"type": "f32", "shape": [512, 1024], "bytes": arrays << 21, "device_bytes": 1 << 19}
    given: dict[str, Any] = {"role": "argument", "copies": 2, "given": "", **sizes, **fields}
    return DividedArray(path=path, arrays=arrays, spec=spec, **given)


def step(*of: DividedArray | Movement, name: str = "step") -> list[DividedProgram]:
    arrays = [each for each in of if isinstance(each, DividedArray)]
    moved = [each for each in of if isinstance(each, Movement)]
    place = location("train.py", 40)
    return [DividedProgram(name, place, 8, "data=8", 1, 1.0, arrays, moved)]


def differ(was: list[DividedProgram], now: list[DividedProgram]) -> list[tuple[str, str, str, str]]:
    found = changes(golden(was), golden(now))
    return [(each.state, each.what, each.was, each.now) for each in found]


def test_runs_that_are_alike_have_no_changes() -> None:
    assert differ(step(gather(), array("w[*]")), step(gather(), array("w[*]"))) == []


@pytest.mark.parametrize(
    ("size", "state"),
    [(1010, None), (1011, "larger"), (990, None), (989, "smaller"), (2000, "larger")],
)
def test_a_collective_may_grow_by_a_hundredth(size: int, state: str | None) -> None:
    found = differ(step(gather(1000)), step(gather(size, line=31)))
    assert [each[0] for each in found] == ([state] if state else [])
    if state == "larger":
        was, now = "1000 bytes in 4 at train.py:20", " in 4 at train.py:31"
        assert found[0][1:3] == ("all-gather over data", was)
        assert found[0][3].endswith(now)


def test_a_line_is_known_by_its_text_else_by_its_kind() -> None:
    was = [gather(1000, 20), gather(500, 22, "y = x @ v")]
    assert differ(step(*was), step(gather(1000, 30), gather(500, 32, "y = x @ v"))) == []
    assert differ(step(*was), step(gather(1000, 30, "x = x @ w.T"), was[1])) == []


def test_new_and_gone() -> None:
    assert differ(step(gather()), step(gather(), gather(10, 22, "v", axes="model"))) == [
        ("new", "all-gather over model", "none", "10 bytes in 4 at train.py:22")
    ]
    assert differ(step(gather()), step(gather(kind="all-reduce", location=None))) == [
        ("new", "all-reduce over data", "none", "1000 bytes in 4"),
        ("gone", "all-gather over data", "1000 bytes in 4 at train.py:20", "none"),
    ]


def test_a_program_that_is_new_or_gone() -> None:
    both = [*step(gather()), *step(gather(7), name="evaluate")]
    assert [each[0] for each in differ(step(gather()), both)] == ["new"]
    assert [each[0] for each in differ(both, step(gather()))] == ["gone"]


def test_programs_of_one_name_are_together() -> None:
    two = [*step(gather(1)), *step(gather(2, 22, "v"))]
    assert differ(two, two[::-1]) == []


def test_an_argument_that_is_divided_otherwise() -> None:
    layers = array("params['layers'][*]['w']", arrays=12)
    eleven, third = replace(layers, arrays=11), "params['layers'][3]['w']"
    assert differ(step(layers), step(eleven, array(third, "(None, None)"))) == [
        (
            "changed",
            "params['layers'][*]['w']",
            "('data', None)",
            "('data', None) × 11, (None, None) × 1",
        )
    ]
    assert differ(step(array("x")), step(array("x", "(None, None)"))) == [
        ("changed", "x", "('data', None)", "(None, None)")
    ]


def test_more_layers_or_other_arguments_are_no_change() -> None:
    layers = array("w[*]", arrays=12)
    assert differ(step(layers), step(replace(layers, arrays=14), array("x"))) == []
    unnamed = [array("f32[512,1024]", arrays=3), array("f32[512,1024]", "(None, None)")]
    assert differ(step(*unnamed), step(replace(unnamed[0], arrays=5), unnamed[1])) == []


def test_results_and_small_programs_do_not_count() -> None:
    assert differ(step(array("x")), step(array("x"), array("out", role="result"))) == []
    assert not golden(step(array("x", bytes=8)))
