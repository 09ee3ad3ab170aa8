"""First steps that are compared, and what of them counts as a difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xladoctor.move.proof.interface import Judgement
from xladoctor.move.proof.judging import judged
from xladoctor.move.proof.recorded import FirstSteps, Seen, Value
from xladoctor.move.proof.verify import fault

SPACING = 1.2e-7
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=64)
BATCHES = RNG.normal(size=(3, 16))
SLOPES = RNG.normal(size=(3, 64))


def seen(kind: str, step: int, elements: object, number: int = 0, name: str = "w") -> Seen:
    values = np.asarray(elements, "f8").flatten()
    return Seen(kind, "Net", number, (Value(name, values, SPACING, values.shape),), step)


def training(lr: float = 0.1, loss: float = 1.0, noise: float = 0.0, steps: int = 3) -> list[Seen]:
    """A program of one parameter whose updates are ``lr`` times the sign of the gradient."""
    rows, weights = [seen("weights", 1, WEIGHTS), seen("weights", 1, WEIGHTS, 1)], WEIGHTS
    for n in range(steps):
        drift = 1 + noise * RNG.uniform(-1, 1, 64)
        slopes = SLOPES[n] * loss * drift
        slopes[:3] = noise * RNG.uniform(-1, 1, 3) * 1e-3  # nothing but noise
        weights = weights - lr * np.sign(slopes)
        rows += [
            seen("inputs", n + 1, BATCHES[n]),
            seen("outputs", n + 1, (weights + lr * np.sign(slopes))[4:8] * drift[4:8]),
            seen("loss", n + 1, [loss * (n + 1) * drift[0]]),
            seen("gradients", n + 1, slopes, 1),
            seen("parameters", n + 1, weights, 1),
        ]
    return rows


def judge(a: Sequence[Seen], b: Sequence[Seen], rtol: float = 1e-3) -> Judgement:
    one, other = (
        FirstSteps(tuple(rows), frozenset(), True, max(row.step for row in rows)) for rows in (a, b)
    )
    return judged([one], [other], rtol)


def changed(rows: Sequence[Seen], kind: str, step: int, by: float) -> list[Seen]:
    """With one element of what was seen larger by a share of the largest."""

    def row(each: Seen) -> Seen:
        if (each.kind, each.step) != (kind, step):
            return each
        (value,) = each.values
        assert value.elements is not None
        elements = value.elements.copy()
        elements[-1] += by * np.abs(elements).max()
        return replace(each, values=(replace(value, elements=elements),))

    return [row(each) for each in rows]


@given(st.floats(0, 3e-5))
def test_rounding_is_no_difference_though_updates_of_noise_differ(noise: float) -> None:
    found = judge(training(), training(noise=noise))

    assert (found.outcome, found.steps) == ("agrees", 3)
    assert {each.kind for each in found.compared} >= {"loss", "gradients", "updates"}


@given(st.floats(0.2, 5).filter(lambda factor: abs(factor - 1) > 0.02))
def test_other_learning_rate_is_named_at_its_first_update(factor: float) -> None:
    first = judge(training(), training(lr=0.1 * factor)).first

    assert first is not None
    assert (first.kind, first.step) == ("updates", 1)


def test_loss_that_is_divided_is_named_before_gradients() -> None:
    found = judge(training(), training(loss=0.25))

    assert found.outcome == "differs"
    assert found.first is not None
    assert (found.first.kind, found.first.step) == ("loss", 1)
    assert found.reason == "the loss of step 1 differs: w by 0.75 of its size (1 and 0.25)"


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("weights", "not comparable"),
        ("inputs", "not comparable"),
        ("outputs", "differs"),
        ("loss", "differs"),
        ("gradients", "differs"),
    ],
)
@given(step=st.integers(1, 3), by=st.floats(0.01, 10))
def test_first_difference_is_found(kind: str, outcome: str, step: int, by: float) -> None:
    step = 1 if kind == "weights" else step
    found = judge(training(), changed(training(), kind, step, by))

    assert found.outcome == outcome
    assert found.first is not None
    assert (found.first.kind, found.first.step) == (kind, step)
    assert bool(found.instead) == (outcome == "not comparable")


def test_what_a_model_returned_is_no_batch_of_the_next() -> None:
    def chained(fake: float) -> list[Seen]:
        return [
            seen("outputs", 1, [fake, 2.0]),
            seen("inputs", 1, [fake, 2.0]),
            seen("loss", 1, [1.0]),
            seen("parameters", 1, [1.0]),
        ]

    found = judge(chained(1.0), chained(1.5))
    assert (found.outcome, found.first and found.first.kind) == ("differs", "outputs")


def test_zeros_and_values_that_are_not_finite_prove_nothing() -> None:
    for value in (0.0, float("nan")):
        rows = [seen("loss", 1, [value]), seen("gradients", 1, [value]), seen("parameters", 1, [1])]
        found = judge(rows, rows)
        assert found.outcome == "not comparable"
        assert "could differ" in found.reason


def test_missing_steps_arrays_and_sizes_differ() -> None:
    ended = FirstSteps(tuple(training(steps=2)), frozenset(), False, 2)
    whole = FirstSteps(tuple(training()), frozenset(), True, 3)
    assert judged([whole], [ended], 1e-3).reason.endswith("makes 3 steps, the moved one 2")
    for other in (seen("loss", 1, [1.0, 2.0]), replace(seen("loss", 1, [1.0]), values=())):
        found = judge([seen("loss", 1, [1.0])], [other])
        assert found.outcome == "differs"
        assert found.first is not None
        assert found.first.mismatch


def test_arrays_are_matched_by_name_whatever_their_order() -> None:
    values = seen("loss", 1, [1.0], name="a").values + seen("loss", 1, [2.0], name="b").values
    one, other = (Seen("outputs", "Net", 0, each) for each in (values, values[::-1]))
    assert judge([one], [other]).outcome == "agrees"


def test_several_processes_and_none_are_not_compared() -> None:
    run = FirstSteps(tuple(training()), frozenset({"lstm"}), True, 3)
    assert judged([run, run], [run], 1e-3).outcome == "not comparable"
    assert judged([run], [], 1e-3).outcome == "not comparable"
    assert any("lstm" in note for note in judged([run], [run], 1e-3).unproven)


def test_gradients_of_zeros_may_be_rounding() -> None:
    rows = [
        replace(each, values=(replace(each.values[0], elements=np.zeros(16)),))
        if each.kind == "inputs"
        else each
        for each in training()
    ]
    assert "batches: all of their values are zero" in judge(rows, rows).unproven
    found = judge(rows, changed(rows, "gradients", 2, 0.1))
    assert (found.outcome, found.instead[:20]) == ("not comparable", "All batches are zero")
    assert judge(rows, changed(rows, "loss", 2, 0.1)).outcome == "differs"


def test_fault_is_the_exception_with_the_programs_own_line() -> None:
    errors = (
        "warning\nTraceback (most recent call last):\n"
        '  File "/home/ada/train.py", line 7, in <module>\n    model.go()\n'
        '  File "/usr/lib/python3.11/site-packages/lib/module.py", line 1, in go\n    raise\n'
        "ValueError: no\nnum_compilations=0\n"
    )
    assert fault(errors) == "ValueError: no (train.py:7)"
    assert fault("killed\n") == "killed"
