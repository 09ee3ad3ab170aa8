"""What pairs of runs, with a patch and without, say about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixes.harness import case
from xladoctor.diagnosis.finding import NO_SAVING
from xladoctor.fixes.interface import Change, Patch
from xladoctor.fixes.proof.interface import Proof, Run
from xladoctor.fixes.proof.judging import judged


def _proof(behaviour: str = "", predicted_s: float | None = 1.0) -> Proof:
    finding = replace(case("x = 1  #!", rule="XD301").finding, saving=NO_SAVING)
    patch = Patch(finding, "a_kind", Path("train.py"), "0", Change("do it", (), behaviour))
    return Proof(patch, "not tried", predicted_s=predicted_s)


def _run(loop_s: float, printed: str = "loss 1.0\n", rules: tuple[str, ...] = ()) -> Run:
    return Run(0, printed, loop_s, rules=rules)


def test_a_patch_that_says_what_it_changes_may_print_something_else() -> None:
    pairs = [(_run(4.0), _run(1.0, "loss 3.0\n")), (_run(4.1), _run(1.1, "loss 3.0\n"))]
    silent = judged(_proof(), pairs, 1e-3)
    assert silent.outcome == "changes the results"
    said = judged(_proof("samples are left out"), pairs, 1e-3)
    assert said.outcome == "verified"
    assert said.note.endswith("samples are left out")
    assert said.differs == ("- loss 1.0", "+ loss 3.0")


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        (("XD301", "XD301"), ("XD301",), "verified"),
        (("XD301",), (), "verified"),
        (("XD301",), ("XD301",), "does not help"),
        (("XD301",), ("XD301", "XD201"), "does not help"),
    ],
)
def test_where_no_saving_was_predicted_the_finding_has_to_be_gone(
    before: tuple[str, ...], after: tuple[str, ...], outcome: str
) -> None:
    pairs = [(_run(1.0, rules=before), _run(1.0, rules=after))] * 2
    assert judged(_proof(predicted_s=None), pairs, 1e-3).outcome == outcome


@pytest.mark.parametrize(
    ("seconds", "outcome"),
    [
        ([(14.0, 0.4), (40.0, 0.3)], "verified"),
        ([(14.0, 0.4)], "verified"),
        ([(2.0, 1.0), (1.5, 0.4)], "does not help"),
        ([(1.0, 1.0), (1.1, 1.1)], "does not help"),
    ],
)
def test_few_runs_that_differ_widely_are_no_chance(
    seconds: list[tuple[float, float]], outcome: str
) -> None:
    pairs = [(_run(before), _run(after)) for before, after in seconds]
    assert judged(_proof(), pairs, 1e-3).outcome == outcome


def test_a_gain_after_warm_up_counts_where_warm_up_differs_from_run_to_run() -> None:
    before = [replace(_run(loop), steady_s=0.20) for loop in (2.0, 2.6, 2.2)]
    after = [replace(_run(loop), steady_s=0.10) for loop in (2.4, 1.9, 2.1)]
    found = judged(_proof(predicted_s=0.1), [*zip(before, after, strict=True)], 1e-3)
    assert found.outcome == "verified"
    assert found.after_warmup
    assert (found.before_s, found.after_s) == (0.2, 0.1)


def test_a_loop_that_is_slower_as_a_whole_is_not_faster_after_warm_up() -> None:
    before = [replace(_run(2.0 + n / 100), steady_s=0.20) for n in range(3)]
    after = [replace(_run(3.0 + n / 100), steady_s=0.10) for n in range(3)]
    found = judged(_proof(predicted_s=0.1), [*zip(before, after, strict=True)], 1e-3)
    assert found.outcome == "does not help"


def test_a_loop_that_is_slower_is_called_so() -> None:
    pairs = [(_run(3.0 + n / 100), _run(24.0 + n / 100)) for n in range(3)]
    found = judged(_proof(), pairs, 1e-3)
    assert found.outcome == "does not help"
    assert found.reason == "the loop takes 7.98 times as long with it"


@pytest.mark.parametrize(
    ("predicted_s", "outcome"), [(0.01, "verified"), (0.8, "does not help"), (5.0, "does not help")]
)
def test_a_small_saving_is_within_the_spread_where_the_finding_is_gone(
    predicted_s: float, outcome: str
) -> None:
    loops = [(1.0, 1.1), (1.2, 1.1), (1.1, 1.15)]
    pairs = [(_run(one, rules=("XD301",)), _run(two)) for one, two in loops]
    found = judged(_proof(predicted_s=predicted_s), pairs, 1e-3)
    assert found.outcome == outcome
    assert (found.note == "finding gone; speed-up not proven, runs vary more") is (
        outcome == "verified"
    )
