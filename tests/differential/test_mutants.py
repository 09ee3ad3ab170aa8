"""Unsound mutants of each kind are found by the programs that are generated for it."""

from __future__ import annotations

from itertools import count

import pytest

from tests.differential.kinds import KINDS
from tests.differential.mutants import Fix, careless
from tests.differential.table import row

#: Kinds without an edit that could be left out or misplaced and be missed in what a program does.
_BATCH, _LIMIT = 10, 8


def _is_found(kind: str, fix: Fix | None = None) -> bool:
    """Whether a program behaves differently after a mutant's patch."""
    for number in count(100):
        found = row(kind, _BATCH, number, fix=fix)
        if any(each.verdict == "differs" for _, each in found.falls):
            return True
        if number >= 100 + _LIMIT:
            return False
    raise AssertionError


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_line_is_found(kind: str) -> None:
    assert _is_found(kind, careless(kind))
