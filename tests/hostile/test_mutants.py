"""A few of the mutants of ``make fuzz``: each is a result or an error, never a fault."""

from __future__ import annotations

import pytest

from tests.hostile.fuzz import attack

FEW = {"text": 60, "timeline": 20, "run": 2}  # a part each
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", FEW)
def test_mutants_are_held(kind: str, part: int) -> None:
    first = 10_000_000 + part * FEW[kind]
    came_of = [attack(kind, seed) for seed in range(first, first + FEW[kind])]
    assert came_of.count("fault") == 0
