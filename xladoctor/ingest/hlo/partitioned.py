"""How a module is divided over devices: its mesh, its arguments and results, and what devices send
one another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from xladoctor.ingest.hlo.communication import Counted, communications
from xladoctor.ingest.hlo.groups import Mesh, mesh_of
from xladoctor.ingest.hlo.layout import Array, arrays
from xladoctor.ingest.hlo.placement import Placement, meshes_of, placements
from xladoctor.ingest.hlo.stacks import Stacks
from xladoctor.ingest.hlo.walk import root_of

_NO_PATH = re.compile(r"Arg_\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Placed:
    """An argument or result: what a device has of it, and how it is divided."""

    role: str
    number: int
    path: str
    array: Array
    placement: Placement

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions of the whole array, as far as parts are of equal size."""
        parts = self.placement.parts or (1,) * len(self.array.shape)
        return tuple(size * part for size, part in zip(self.array.shape, parts, strict=True))

    @property
    def is_named(self) -> bool:
        """Whether the axes that it is divided over have names."""
        placement = self.placement
        parts = zip(placement.parts, placement.axes, strict=True)
        return all(axes or part == 1 for part, axes in parts)

    def columns(self, devices: int) -> dict[str, Any]:
        """The columns of ``placement``."""
        placement = self.placement
        return {
            "role": self.role,
            "number": self.number,
            "argument": self.path or None,
            "type": self.array.type,
            "shape": self.shape,
            "bytes": self.array.bytes * placement.total,
            "device_bytes": self.array.bytes,
            "spec": placement.spec(len(self.array.shape)),
            "axes": ", ".join(filter(None, placement.axes)),
            "copies": max(devices // placement.total, 1),
        }


@dataclass(frozen=True, slots=True)
class Partitioned:
    """How a module is divided; of one for a single device there is nothing to say.

    Attributes:
        count: devices that its arrays are divided over.
        mesh: their axes.
    """

    count: int = 1
    mesh: Mesh = field(default_factory=dict)
    placed: tuple[Placed, ...] = ()
    communications: tuple[Counted, ...] = ()

    @classmethod
    def of(cls, module: Any, stacks: Stacks, meshes: Sequence[Mesh]) -> Partitioned:
        """Of an ``HloModuleProto``.

        Args:
            meshes: of the program, where the module does not name its own.
        """
        count = devices_of(module)
        if count == 1:
            return cls()
        given, returned = [*module.spmd_parameters_shardings], module.spmd_output_sharding
        named = mesh_of(chain(meshes_of([*given, returned]), _meshes_of_groups(module)))
        fitting = [each for each in meshes if math.prod(each.values()) == count]
        entry = next((c for c in module.computations if c.id == module.entry_computation_id), None)
        if entry is None:
            return cls(count, named)
        divided = [  # by each mesh that it may be
            (mesh, (*_arguments(entry, given, mesh), *_results(entry, returned, mesh)))
            for mesh in ([named] if named else fitting or [{}])
        ]
        mesh, placed = min(divided, key=lambda each: sum(not p.is_named for p in each[1]))
        results = {each.shape for each in placed if each.role == "result"}
        state = [each for each in placed if each.role == "argument" and each.shape in results]
        shapes = {shape for each in state for shape in (each.shape, each.array.shape)}
        return cls(count, mesh, placed, tuple(communications(module, stacks, mesh, shapes)))

    def rows(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Rows of ``placement`` and ``communication``."""
        for placed in self.placed:
            yield "placement", placed.columns(self.count)
        for each in self.communications:
            yield "communication", each.columns()


def devices_of(module: Any) -> int:
    """The devices that run an ``HloModuleProto``."""
    assignment = module.device_assignment
    return int(max(assignment.computation_count, 1) * max(assignment.replica_count, 1))


def _meshes_of_groups(module: Any) -> Iterator[Any]:
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.mesh_device_list.mesh.axes:
                yield instruction.mesh_device_list.mesh


def _arguments(entry: Any, shardings: Sequence[bytes], mesh: Mesh) -> Iterator[Placed]:
    parameters = [each for each in entry.instructions if each.opcode == "parameter"]
    known = placements(shardings, mesh)
    for each in sorted(parameters, key=lambda each: each.parameter_number):
        number, found = each.parameter_number, [*arrays(each.shape)]
        if len(found) != 1:
            continue
        placement = known[number] if number < len(known) else None
        if placement is None and each.sharding:
            placement = next(iter(placements([each.sharding], mesh)), None)
        if placement is not None:
            name, operation = each.metadata.op_name, each.metadata.op_type
            unnamed = name == operation or _NO_PATH.fullmatch(name)  # given in place of a path
            path = "" if unnamed else name
            yield from _placed("argument", number, path, found[0], placement)


def _results(entry: Any, sharding: bytes, mesh: Mesh) -> Iterator[Placed]:
    root = root_of(entry)
    found = [] if root is None else [*arrays(root.shape)]
    known = placements([sharding], mesh) if sharding else []
    if len(known) == len(found):
        for number, (array, placement) in enumerate(zip(found, known, strict=True)):
            if placement is not None:
                yield from _placed("result", number, "", array, placement)


def _placed(
    role: str, number: int, path: str, array: Array, placement: Placement
) -> Iterator[Placed]:
    if not placement.parts or len(placement.parts) == len(array.shape):  # else it is damaged
        yield Placed(role, number, path, array, placement)
