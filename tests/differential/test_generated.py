"""Generated programs behave as before after each kind's patch."""

from __future__ import annotations

import pytest

from tests.differential.kinds import KINDS
from tests.differential.table import row
from xladoctor.fixes import registry

PROGRAMS = 500

EACH = -(-PROGRAMS // len(KINDS))


def test_each_kind_has_a_generator() -> None:
    assert set(KINDS) == registry.names()


@pytest.mark.parametrize("kind", KINDS)
def test_a_patched_program_behaves_as_the_original(kind: str) -> None:
    found = row(kind, EACH)
    assert found.patched, found.refusals
    for program, judgement in found.shortest_falls():
        pytest.fail(f"{judgement.reason}\n{program.text}\n--- patched\n{judgement.patched}")
