"""Names of TPUs, as ``GENERATION`` or ``GENERATION:SHAPE``: ``v5e``, ``v6e:4x4``, ``v5p:2x2x1``."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from xladoctor.errors import XladoctorError

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation of TPUs.

    Attributes:
        axes: dimensions of its shapes.
        devices: devices of a chip, as libtpu describes it.
        memory: HBM of a device that programs can have, in GiB: what libtpu 0.0.50 says in the
            message about a program that does not fit.
        shapes: usual shapes, the smallest first; the first is one chip, which libtpu accepts even
            where Google Cloud has no such machine.
        options: of libtpu's description.
    """

    axes: int
    devices: int
    memory: float
    shapes: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()


_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_WIDE = ("1x1", "2x2", "4x4", "4x8", "8x8", "8x16", "16x16", "16x32")
_CUBES = ("1x1x1", "2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8")
#: A v4 has two cores that programs see as one device, which libtpu describes only when asked to.
_MEGACORE = (("chip_config_name", "megacore"),)
GENERATIONS = {
    "v2": Generation(2, 2, 7.48, _WIDE),
    "v3": Generation(2, 2, 15.48, _WIDE),
    "v4": Generation(3, 1, 30.75, _CUBES, _MEGACORE),
    "v5e": Generation(2, 1, 15.75, _FLAT),
    "v5p": Generation(3, 1, 95.73, _CUBES),
    "v6e": Generation(2, 1, 31.24, _FLAT),
    "tpu7x": Generation(3, 2, 94.74, _CUBES),
}
_NAME = re.compile(r"([\w-]+)(?::(\d{1,4}(?:x\d{1,4}){0,2}))?", re.ASCII)


class TopologyError(XladoctorError):
    """A name that is no TPU's, or a shape that its generation does not have."""


@dataclass(frozen=True, slots=True)
class Topology:
    """A TPU: chips of one generation.

    Attributes:
        generation: a key of :data:`GENERATIONS`.
        shape: chips along each axis, such as ``2x2``; None for the smallest that a graph needs.
    """

    generation: str
    shape: str | None = None

    @property
    def name(self) -> str:
        """As people write it."""
        return f"{self.generation}:{self.shape}" if self.shape else self.generation

    @property
    def chips(self) -> int | None:
        """The number of chips; None if the shape depends on the graph."""
        return math.prod(map(int, self.shape.split("x"))) if self.shape else None

    @property
    def devices(self) -> int | None:
        """The number of devices; None if the shape depends on the graph."""
        return None if self.chips is None else self.chips * self.kind.devices

    @property
    def kind(self) -> Generation:
        """The generation."""
        return GENERATIONS[self.generation]

    @property
    def memory(self) -> int:
        """HBM of a device that programs can have, in bytes."""
        return round(self.kind.memory * _GIB)

    def shaped(self) -> Iterator[Topology]:
        """This topology if its shape is known; otherwise each usual one, the smallest first."""
        shapes = [self.shape] if self.shape else self.kind.shapes
        return (Topology(self.generation, shape) for shape in shapes)

    def for_devices(self, needed: int) -> Topology | None:
        """The smallest with that many devices, of usual shapes; None if there is none."""
        every = Topology(self.generation).shaped()
        return next((each for each in every if (each.devices or 0) >= needed), None)


def parse_topology(text: str) -> Topology:
    """The topology of a name.

    Raises:
        TopologyError: the generation is unknown, or the shape is none of it.
    """
    match = _NAME.fullmatch(text.strip().lower())
    names = ", ".join(GENERATIONS)
    if match is None or match[1] not in GENERATIONS:
        likely = difflib.get_close_matches(match[1] if match else text, GENERATIONS, 1, 0.5)
        raise TopologyError(
            f"{text!r} is not a TPU that can be compiled for",
            f"known are {names}, each with a shape or without: v5e, v5e:2x2, v5p:2x2x1"
            + (f"; did you mean {likely[0]}?" if likely else ""),
        )
    kind = GENERATIONS[match[1]]
    topology = Topology(match[1], match[2])
    if topology.shape and (topology.shape.count("x") + 1 != kind.axes or not topology.chips):
        raise TopologyError(
            f"{text!r}: the chips of a {match[1]} lie along {kind.axes} axes",
            f"shapes of it are {', '.join(kind.shapes)}",
        )
    return topology
