"""How programs for each kind of fix are generated."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from tests.differential import barriers, compiled, data, in_loops
from tests.differential.grammar import Text
from tests.differential.judge import Program
from xladoctor.fixes import registry

MODULES = (barriers, compiled, data, in_loops)


def generators() -> dict[str, Callable[[Text], Program]]:
    """The generator of each kind."""
    return {
        name: getattr(module, name)
        for name in sorted(registry.names())
        for module in MODULES
        if hasattr(module, name)
    }


@st.composite
def programs(draw: st.DrawFn, kind: str) -> Program:
    """Programs for a kind."""
    return generators()[kind](Text(draw))
