"""Products of an executable: matrix products and convolutions, which fusions contain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from xladoctor.facts.tpu import TpuProduct
from xladoctor.tpu_check.executable.layout import arrays
from xladoctor.tpu_check.executable.sites import Site, Sites
from xladoctor.tpu_check.executable.walk import Run

_PRODUCTS = ("dot", "convolution")


def product_facts(
    runs: Sequence[Run], computations: Mapping[int, Any], sites: Sites, of: Mapping[str, Any]
) -> list[TpuProduct]:
    """A fact for each kind of product.

    Args:
        runs: all instructions; ``computations``: by their numbers.
        sites: of the instructions.
        of: graph and topology.
    """
    times: Counter[tuple[bool, tuple[int, ...], Site]] = Counter()
    types = _types(computations)
    for run in runs:
        instruction = run.instruction
        if instruction.opcode in _PRODUCTS:
            shape = next((array.shape for array in arrays(instruction.shape)), ())
            float32 = "f32" in {types.get(number) for number in instruction.operand_ids}
            times[float32, shape, sites.of(instruction)] += run.times
    return [
        TpuProduct(**of, float32=float32, shape=shape, times=count, **site.columns())
        for (float32, shape, site), count in times.items()
    ]


def _types(computations: Mapping[int, Any]) -> dict[int, str]:
    """The element types of instructions, by their numbers."""
    return {
        instruction.id: next((array.type for array in arrays(instruction.shape)), "")
        for computation in computations.values()
        for instruction in computation.instructions
    }
