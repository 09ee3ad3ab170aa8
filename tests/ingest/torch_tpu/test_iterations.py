"""Iterations of a loop, by the operators that it launches."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from xladoctor.frontends.torch_tpu.ingest.iterations import Iterations
from xladoctor.ingest.recorded_elsewhere import read_elsewhere

#: A loop of torch_tpu 0.2.0 without an optimizer: four layers of three sizes at one line, batches
#: of four sizes, and a slice of another place in each.
LAYERS = Path(__file__).with_name("layers.log.gz")


def test_they_begin_with_what_comes_first_in_them() -> None:
    iterations = Iterations([7, 8, *[1, 2, 1, 3] * 5])

    assert len(iterations) == 5
    assert [iterations.of(at) for at in (0, 2, 5, 6, 21)] == [0, 0, 0, 1, 4]


def test_what_is_launched_now_and_then_begins_none() -> None:
    once = [1, 2, 3, 1, 2]
    assert len(Iterations([*once * 7, 9, *once * 2, 9, *once * 9, 9])) == 18


def test_without_repetition_there_are_none() -> None:
    assert len(Iterations([])) == 0
    assert len(Iterations([1, 2, 3])) == 0
    assert Iterations([1, 2, 3]).of(2) == 0


@given(st.lists(st.integers(0, 5), max_size=60))
def test_they_are_numbered_in_order(launches: list[int]) -> None:
    iterations = Iterations(launches)
    numbers = [iterations.of(at) for at in range(len(launches))]

    assert numbers == sorted(numbers)
    assert not numbers or numbers[0] == 0
    assert not numbers or numbers[-1] == max(0, len(iterations) - 1)


def test_layers_of_other_sizes_are_no_changes_but_batches_and_slices_are() -> None:
    ingested = read_elsewhere([LAYERS])

    changes = ingested.tables["key_change"]
    assert [*zip(changes["what"], changes["was"], changes["now"], strict=True)] == [
        ("shape", "f32[8,16]", "f32[9,16]"),
        ("shape", "f32[8,16]", "f32[10,16]"),
        ("shape", "f32[8,16]", "f32[11,16]"),
        *[("offset", "", "")] * 4,
    ]
    assert set(ingested.tables["compilation"]["launches"]) == {12}
