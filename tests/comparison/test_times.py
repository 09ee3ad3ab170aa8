"""What the loop and its compiling took in two runs, and what of that comes first."""

from __future__ import annotations

import pytest

from tests.comparison.runs import captured, compared, lasting
from xladoctor.comparison.interface import Comparison, TimeChange


def padded(steps: int | None = 40, **changed: object) -> Comparison:
    """A program that compiled in each step, and the same with batches of one shape."""
    a, b = captured(), captured(shapes=["f32[32,64]"], **changed)  # type: ignore[arg-type]
    return compared(lasting(a, 20.0, 15.0), lasting(b, 2.0, 0.0, steps))


def test_fix_that_changes_shapes_is_told_in_seconds() -> None:
    text = padded().verdict.text
    assert "the loop's 40 steps take 20 s → 2 s (10 times as fast)" in text
    assert "15.5 s → 500 ms of it compiling" in text
    assert "not judged" not in text


def test_loops_of_different_length_are_compared_by_their_average_step() -> None:
    text = padded(steps=10).verdict.text
    assert "a step takes 500 ms → 200 ms on average (2.5 times as fast)" in text
    assert "compiling 15.5 s → 500 ms" in text


def test_loops_without_steps_are_compared_as_a_whole() -> None:
    assert "the loop takes 20 s → 2 s (10 times as fast)" in padded(steps=None).verdict.text


def test_times_of_another_machine_are_only_listed() -> None:
    comparison = padded(process={"host": "bob"})
    assert "10 times" not in comparison.verdict.text
    assert TimeChange("loop", 20.0, 2.0) in comparison.times


@pytest.mark.parametrize(
    ("loops", "compiling"),
    [((20.0, 19.0), (5.0, 4.5)), ((20.0, 2.0), (0.5, 0.5)), ((20.0, 20.0), (1.0, 0.0))],
    ids=["little less", "none after warm-up", "small part"],
)
def test_small_change_of_compiling_is_only_listed(
    loops: tuple[float, float], compiling: tuple[float, float]
) -> None:
    a, b = (lasting(captured(), *pair) for pair in zip(loops, compiling, strict=True))
    comparison = compared(a, b)
    assert "compiling" not in comparison.verdict.text
    assert [change.name for change in comparison.times] == ["loop", "compiling", "average_step"]


def test_slower_loop_takes_times_as_long() -> None:
    text = compared(lasting(captured(), 2.0, 0.0), lasting(captured(), 20.0, 15.0)).verdict.text
    assert "2 s → 20 s (10 times as long), 500 ms → 15.5 s of it compiling" in text
