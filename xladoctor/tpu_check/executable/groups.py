"""Which devices communicate in an operation, in each of the forms that ``xla/service/hlo.proto``
has for that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

#: Axis of a mesh -> devices along it, the slowest first.
Mesh = Mapping[str, int]


def mesh_of(instructions: Sequence[Any]) -> Mesh:
    """The mesh that operations name; empty if none does."""
    meshes = (
        {axis.name: axis.size for axis in each.mesh_device_list.mesh.axes} for each in instructions
    )
    return next((mesh for mesh in meshes if mesh), {})


def group_of(instruction: Any, mesh: Mesh) -> tuple[int | None, str]:
    """How many devices communicate with one another, and along which axes of the mesh.

    Args:
        instruction: ``HloInstructionProto`` of an operation between devices.
        mesh: of the program, if it is known.

    Returns:
        None if the operation does not say, as when all devices communicate; no axes likewise.
    """
    named = instruction.mesh_device_list
    if named.mesh.axes:
        axes = [
            named.mesh.axes[ref.index]
            for ref in named.axes
            if 0 <= ref.index < len(named.mesh.axes)
        ]
        return math.prod(axis.size for axis in axes), ", ".join(axis.name for axis in axes)
    first = _first_group(instruction)
    if first is None:
        return None, ""
    return len(first), _axes_of(first, mesh)


def _first_group(instruction: Any) -> list[int] | None:
    """The devices of the first group."""
    devices = instruction.collective_device_list
    for iota in (instruction.iota_device_list, devices.iota):
        if iota.group_size:
            return _of_iota(iota)
    for groups in (instruction.replica_groups, devices.replica_groups):
        if groups and groups[0].replica_ids:
            return [*groups[0].replica_ids]
    return None


def _of_iota(iota: Any) -> list[int] | None:
    """The first of the groups that an iota describes: the numbers from 0 in an array of these
    dimensions, transposed, and cut into groups.
    """
    sizes, order = [*iota.reshape_dims], [*iota.transpose_perm]
    if (
        sorted(order) != list(range(len(sizes)))
        or not 0 < iota.group_size <= math.prod(sizes) <= 1 << 20
    ):
        return None
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    indices = product(*(range(sizes[axis]) for axis in order))
    numbers = (
        sum(index * strides[axis] for index, axis in zip(each, order, strict=True))
        for each in indices
    )
    return [number for number, _ in zip(numbers, range(iota.group_size), strict=False)]


def _axes_of(group: Sequence[int], mesh: Mesh) -> str:
    """The axes of the mesh along which the devices of a group lie; empty if it is not so simple."""
    names, sizes = [*mesh], [*mesh.values()]
    strides = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    for count in range(1, len(names) + 1):
        for axes in combinations(range(len(names)), count):
            offsets = product(
                *(range(0, sizes[axis] * strides[axis], strides[axis]) for axis in axes)
            )
            if {group[0] + sum(each) for each in offsets} == {*group}:
                return ", ".join(names[axis] for axis in axes)
    return ""
