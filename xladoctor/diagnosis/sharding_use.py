"""How programs for several devices divide arrays, and what moves, as reports show it."""

from __future__ import annotations

from dataclasses import dataclass, field

from xladoctor.diagnosis.finding import Location

#: Reasons of what moves only because a value is divided otherwise than it was before.
RESHARDING = ("reshard", "asked")


@dataclass(frozen=True, slots=True)
class DividedArray:
    """Arguments or results that are divided alike. Bytes are of all of them.

    Attributes:
        role, type, spec, copies: as in the table ``placement``.
        path: with ``*`` for numbers that differ; the type where there is none.
        device_bytes: that a device has of them.
        given: how the argument of the same path is divided, of a result that is divided otherwise.
    """

    role: str
    path: str
    arrays: int
    type: str
    shape: list[int]
    bytes: int
    device_bytes: int
    spec: str
    copies: int
    given: str


@dataclass(frozen=True, slots=True)
class Movement:
    """Operations of a kind at a line in which devices communicate, in a run of the program.

    Attributes:
        axes: of the mesh, or how many devices communicate where axes have no names.
        kind, reason: as in the table ``communication``.
        bytes: that a device receives.
        location: the line that needs it; None if unknown.
    """

    axes: str
    kind: str
    reason: str
    bytes: int
    times: int
    location: Location | None


@dataclass(frozen=True, slots=True)
class DividedProgram:
    """A program for several devices.

    Attributes:
        name, devices, mesh, variants, runs_a_step: as in the table ``program_sharding``.
        location: where it is called; None if unknown.
        arrays: arguments, then results that are divided otherwise; largest first.
        moved: most bytes first.
    """

    name: str
    location: Location | None
    devices: int
    mesh: str
    variants: int
    runs_a_step: float | None
    arrays: list[DividedArray] = field(default_factory=list)
    moved: list[Movement] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """That a device receives in a run."""
        return sum(each.bytes for each in self.moved)

    @property
    def resharded(self) -> int:
        """The part of them that only divides values otherwise."""
        return sum(each.bytes for each in self.moved if each.reason in RESHARDING)
