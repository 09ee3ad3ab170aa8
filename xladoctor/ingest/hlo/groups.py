"""Which devices communicate in an operation, and which hold which part of an array, in each of the
forms that ``xla/service/hlo.proto`` and ``xla/xla_data.proto`` have for that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

#: Axis of a mesh -> devices along it, the slowest first.
Mesh = Mapping[str, int]
_MOST_DEVICES = 1 << 20
_NO_NAME = re.compile(r"axis_\d+|_axis\d*|\d*")  # as XLA names axes that the program did not


def mesh_of(messages: Iterable[Any]) -> Mesh:
    """The mesh that a program names in one of these ``MeshProto``; empty if none does."""
    meshes = ({axis.name: axis.size for axis in each.axes} for each in messages)
    return next((m for m in meshes if m and not any(map(_NO_NAME.fullmatch, m))), {})


def group_of(instruction: Any, mesh: Mesh) -> tuple[int | None, str]:
    """How many devices communicate with one another, and along which axes of the mesh.

    Args:
        instruction: ``HloInstructionProto`` of an operation between devices.
        mesh: of the program, if it is known.

    Returns:
        None if the operation does not say, as when all devices communicate; no axes likewise.
    """
    if pairs := instruction.source_target_pairs:
        moved = _axes_between([(pair.source, pair.target) for pair in pairs], mesh)
        return math.prod(mesh[axis] for axis in moved) if moved else None, ", ".join(moved)
    first = _first_group(instruction)
    return (None, "") if first is None else (len(first), axes_of(first, mesh))


def _first_group(instruction: Any) -> list[int] | None:
    """The devices of the first group."""
    named, devices = instruction.mesh_device_list, instruction.collective_device_list
    if named.mesh.axes:
        return along(named.mesh, named.axes)
    for iota in (instruction.iota_device_list, devices.iota):
        if iota.group_size:
            order = devices_in_order(iota.reshape_dims, iota.transpose_perm)
            size = iota.group_size
            return None if order is None or size > order.size else order.ravel()[:size].tolist()
    for groups in (instruction.replica_groups, devices.replica_groups):
        if groups and groups[0].replica_ids:
            return [*groups[0].replica_ids]
    return None


def devices_in_order(sizes: Sequence[int], order: Sequence[int]) -> np.ndarray[Any, Any] | None:
    """The numbers from 0 in an array of these dimensions, transposed; None if damaged."""
    if sorted(order) != [*range(len(sizes))] or not 0 < math.prod(sizes) <= _MOST_DEVICES:
        return None
    return np.arange(math.prod(sizes)).reshape(tuple(sizes)).transpose(tuple(order))


def along(mesh: Any, axes: Iterable[Any]) -> list[int] | None:
    """The devices that lie along axes of a ``MeshProto`` with the first, or along parts of them."""
    sizes = [axis.size for axis in mesh.axes]
    count = math.prod(sizes)
    order = devices_in_order(mesh.order.reshape_dims or [count], mesh.order.transpose_perm or [0])
    if order is None or order.size != count:
        return None
    chosen: list[Any] = [slice(0, 1)] * len(sizes)
    for axis in axes:
        if not 0 <= axis.index < len(sizes):
            return None
        stride = sizes[axis.index] // max(axis.part.pre_size * axis.part.size, 1)
        size = axis.part.size or sizes[axis.index]
        chosen[axis.index] = slice(0, stride * size, stride) if axis.part.size else slice(None)
    return [int(device) for device in order.reshape(*sizes)[tuple(chosen)].ravel()]


def axes_of(group: Sequence[int], mesh: Mesh) -> str:
    """The axes of the mesh along which the devices of a group lie; where they are only a part of
    those along an axis, this is said. Empty if it is not so simple.
    """
    names, sizes = [*mesh], [*mesh.values()]
    if not sizes or not group or not 0 <= min(group) <= max(group) < math.prod(sizes):
        return ""
    places = np.stack(np.unravel_index(np.asarray(group), sizes))
    for count in range(1, len(names) + 1):
        for axes in combinations(range(len(names)), count):
            others = [axis for axis in range(len(names)) if axis not in axes]
            if (places[others] == places[others, :1]).all():
                whole = len({*group}) == math.prod(sizes[axis] for axis in axes)
                named = ", ".join(names[axis] for axis in axes)
                return named if whole else f"part of {named}" if count == 1 else ""
    return ""


def _axes_between(pairs: Sequence[tuple[int, int]], mesh: Mesh) -> list[str]:
    """The axes in which senders and receivers differ."""
    sizes = [*mesh.values()]
    ends = np.asarray(pairs)
    if not sizes or ends.min() < 0 or ends.max() >= math.prod(sizes):
        return []
    places = np.unravel_index(ends, sizes)
    return [
        name for name, each in zip(mesh, places, strict=True) if (each[:, 0] != each[:, 1]).any()
    ]
