"""What a program holds in a device's memory, as reports show it."""

from __future__ import annotations

from dataclasses import dataclass

from xladoctor.diagnosis.finding import Location


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """Buffers of one role and one line, or of arguments that belong together.

    Attributes:
        role: ``argument``, ``parameters`` or ``optimizer state`` (arguments by their names),
            ``result``, ``activation`` (of the forward pass, kept for the backward pass),
            ``temporary``, ``constant``, or ``unused`` (between the others).
        what: the argument, or the operation that makes the largest, with its type and shape; empty
            if unknown.
        location: the line that makes them; None if unknown, and of arguments.
        reused: of arguments: whether results take the place of all of them.
    """

    role: str
    what: str
    location: Location | None
    bytes: int
    arrays: int
    reused: bool = False


@dataclass(frozen=True, slots=True)
class ProgramMemory:
    """A compiled program at its peak.

    Attributes:
        name: of the function, or of the module.
        location: where it is called; None if unknown.
        device: what it was compiled for, such as ``CPU``.
        bytes: all that it takes, arguments and results included.
        variants: how often the function was compiled; this is the largest.
        held: what takes it, most first.
    """

    name: str
    location: Location | None
    device: str
    bytes: int
    variants: int
    held: list[HeldMemory]


@dataclass(frozen=True, slots=True)
class GrowingMemory:
    """Arrays that become more with each step.

    Attributes:
        holder: the object that holds them, such as ``losses in train``; empty if none was found.
        location: the line that adds to it, else the line that makes them; None if unknown.
        arrays: in the object at the last look.
        bytes_per_step: None if unknown.
        limit: why the object cannot grow for ever; empty if it can.
    """

    holder: str
    location: Location | None
    arrays: int | None
    arrays_per_step: float
    bytes_per_step: float | None
    limit: str


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the device.

    Attributes:
        programs: what compiled programs hold at their peaks, that with most first.
        growth: what grows with each step, most first; None without a record of live memory.
        looked_until: the step of the last look for that; None if there were too few.
    """

    programs: list[ProgramMemory]
    growth: list[GrowingMemory] | None = None
    looked_until: int | None = None
