"""What can be true of a trace: its steps, its devices, and why they were idle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: (module, operation); the module is None where there is no HLO.
Operation = tuple[str | None, str]


@dataclass(frozen=True)
class Step:
    """A step of the loop, in microseconds from the origin; ``name`` as the loop numbers it."""

    name: str
    begin_us: float
    end_us: float


@dataclass(frozen=True)
class Gap:
    """A stretch in which a device ran nothing, and what the host did for most of it.

    ``reason`` is one of compile, wait, upload, input, save, dispatch, python.
    """

    begin_us: float
    end_us: float
    reason: str
    reason_us: float


@dataclass(frozen=True)
class Device:
    """A device from the start of the first step to the end of the last.

    ``busy_us`` is the time in which it ran kernels, operations or copies, however many at once;
    ``copies_us`` the part of it in which only copies ran. ``operations``: how often, the time in
    them, and that without what ran inside them; copies are not among them.
    """

    kind: str
    busy_us: float
    gaps: tuple[Gap, ...]
    operations: Mapping[Operation, tuple[int, float, float]]
    copies_us: float = 0


@dataclass(frozen=True)
class Truth:
    """What a trace says: its steps, and its devices by the name of their plane."""

    steps: tuple[Step, ...]
    devices: Mapping[str, Device]
