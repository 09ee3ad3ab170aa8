"""How programs for each kind of fix are generated."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.differential import compiled, data, training
from tests.differential.judge import Program

KINDS = dict(sorted((training.KINDS | compiled.KINDS | data.KINDS).items()))


@st.composite
def programs(draw: st.DrawFn, kind: str) -> Program:
    """Programs for a kind."""
    return KINDS[kind].program(draw)
