"""The types of a comparison of two compiled graphs."""

from __future__ import annotations

from dataclasses import dataclass

from xladoctor.causes.interface import Place


@dataclass(frozen=True, slots=True)
class Compiled:
    """One of the two compilations; ``file`` and ``line`` are its call site's.

    ``instructions`` counts them after optimization. Unknown values are None.
    """

    index: int
    step: int | None
    seconds: float | None
    graph_hash: str
    instructions: int
    inputs: int
    outputs: int | None
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class InputChange:
    """An input that differs, or that only one graph has: the other side is then None.

    Attributes:
        parameter: its number in B, or in A if only A has it.
        sent: whether the line sent it to the device; otherwise it is the first that uses it.
    """

    parameter: int
    a: str | None
    b: str | None
    sent: bool
    place: Place


@dataclass(frozen=True, slots=True)
class OperationChange:
    """An operation of the framework at a line that was lowered to other instructions.

    ``a`` and ``b`` are the instructions that only that side has, or has more of, as HLO text
    without names; the counts include all kinds of instruction that differ. ``op`` is None for
    instructions without an operation.
    """

    op: str | None
    a: tuple[str, ...]
    b: tuple[str, ...]
    a_count: int
    b_count: int


@dataclass(frozen=True, slots=True)
class LineChange:
    """A Python line and its differing operations, in the order of lowering."""

    place: Place
    operations: tuple[OperationChange, ...]


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """A difference in what else a graph was compiled for: donations, devices, sharding, outputs."""

    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two compilations of a process, and the differences of their graphs after optimization.

    ``left_out`` is the number of further kinds of instruction that differ, lowered later.
    """

    process: int
    a: Compiled
    b: Compiled
    inputs: tuple[InputChange, ...]
    lines: tuple[LineChange, ...]
    placement: tuple[PlacementChange, ...]
    left_out: int

    @property
    def same(self) -> bool:
        """Whether the graphs show no difference."""
        return not (self.inputs or self.lines or self.placement)
