"""How arrays are divided over devices (``OpSharding`` of ``xla/xla_data.proto``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from xladoctor.ingest.hlo.groups import Mesh, along, axes_of, devices_in_order
from xladoctor.ingest.protobuf_schema import message

_WHOLE, _ON_ONE, _TUPLE, _DIVIDED = range(4)


class Placement(NamedTuple):
    """How an array is divided.

    Attributes:
        parts: of each dimension, how many; empty if it is whole on each device.
        axes: of each dimension, those of the mesh that it is divided over, by ``, ``; empty where
            it is whole, or where they are not known.
    """

    parts: tuple[int, ...] = ()
    axes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The parts of the whole array."""
        return math.prod(self.parts)

    def spec(self, rank: int) -> str:
        """It as programs write it, such as ``('data', None)``; parts without names as numbers."""
        known = zip(self.parts, self.axes, strict=True)
        written = [_axes(parts, axes) for parts, axes in known] or ["None"] * rank
        return f"({', '.join(written)}{',' if len(written) == 1 else ''})"


def _axes(parts: int, axes: str) -> str:
    if parts == 1:
        return "None"
    names = [repr(name) for name in axes.split(", ") if name]
    if not names:
        return f"{parts} parts"
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def placements(shardings: Sequence[Any], mesh: Mesh) -> list[Placement | None]:
    """The placement of each array; None for one that is on one device, or is not understood.

    Args:
        shardings: serialized ``OpSharding``; of a tuple, its parts count.
    """
    found = []
    for content in shardings:
        try:
            sharding = message("OpSharding").FromString(content)
        except DecodeError:
            return []
        parts = sharding.tuple_shardings if sharding.type == _TUPLE else [sharding]
        found += [_placement(part, mesh) for part in parts]
    return found


def meshes_of(shardings: Sequence[bytes]) -> list[Any]:
    """The ``MeshProto`` that shardings name."""
    try:
        read = [message("OpSharding").FromString(each) for each in shardings]
    except DecodeError:
        return []
    parts = [part for each in read for part in (each.tuple_shardings or [each])]
    return [part.named_sharding.mesh for part in parts]


def _placement(sharding: Any, mesh: Mesh) -> Placement | None:
    named = sharding.named_sharding
    if named.mesh.axes:
        divided = [along(named.mesh, each.axes) for each in named.dimensions]
        if None in divided:
            return None
        groups = [each or [0] for each in divided]
        return _of_groups(groups, mesh)
    if sharding.type == _WHOLE:
        return Placement()
    if sharding.type != _DIVIDED:
        return None
    dimensions = [*sharding.tile_assignment_dimensions]
    last = len(sharding.last_tile_dims) or int(sharding.replicate_on_last_tile_dim)
    listed = [*sharding.tile_assignment_devices]
    devices = devices_in_order(sharding.iota_reshape_dims, sharding.iota_transpose_perm)
    order = listed or ([] if devices is None else devices.ravel().tolist())
    if not dimensions or math.prod(dimensions) != len(order) or last > len(dimensions):
        return None
    strides = [math.prod(dimensions[axis + 1 :]) for axis in range(len(dimensions))]
    groups = [
        [order[part * strides[axis]] for part in range(dimensions[axis])]
        for axis in range(len(dimensions) - last)
    ]
    return _of_groups(groups, mesh)


def _of_groups(groups: Sequence[Sequence[int]], mesh: Mesh) -> Placement:
    """From the devices that have the parts along each dimension, in the others' first part."""
    parts = tuple(len(group) for group in groups)
    if math.prod(parts) == 1:
        return Placement()
    return Placement(
        parts, tuple(axes_of(group, mesh) if len(group) > 1 else "" for group in groups)
    )
