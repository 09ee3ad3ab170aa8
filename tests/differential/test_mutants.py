"""Unsound mutants of each kind are found by the programs that are generated for it."""

from __future__ import annotations

import pytest

from tests.differential.kinds import KINDS
from tests.differential.mutants import Fix, blind, careless, left_out
from tests.differential.table import row

_BATCH, _BATCHES = 10, 12
#: Kinds that make several edits, each of which is needed.
_SEVERAL = (
    *("jit_around_control_flow", "jit_before_loop", "jit_loop_body"),
    *("keep_in_attribute", "keep_on_device", "optimizer_after_move", "read_where_used"),
    *("replay_below_loop", "sum_on_device", "value_before_loop"),
)
#: Kinds whose refusals are functions of their own.
_REFUSING = ("choose_on_device", "every_tenth_step", "read_where_used", "replay_below_loop")


def _is_found(kind: str, fix: Fix | None = None) -> bool:
    """Whether a program behaves differently after a mutant's patch."""
    return any(
        judgement.verdict == "differs"
        for number in range(_BATCHES)
        for _, judgement in row(kind, _BATCH, 100 + number, fix=fix).falls
    )


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_line_is_found(kind: str) -> None:
    assert _is_found(kind, careless(kind))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", _SEVERAL)
def test_an_edit_that_is_left_out_is_found(kind: str) -> None:
    assert _is_found(kind, left_out(kind))


@pytest.mark.parametrize("kind", _REFUSING)
def test_a_kind_that_refuses_nothing_is_found(kind: str) -> None:
    with blind():
        assert _is_found(kind)
