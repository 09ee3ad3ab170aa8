"""What a device must hold at least, whatever a compiler makes of the graph.

Arguments stay where they are; results need places of their own, or those of donated arguments. All
else may be fused, narrowed or computed twice, and is not counted. Arrays count without padding, and
those whose division is not known as if all devices shared them.
"""

from __future__ import annotations

import math
import re
from typing import Any

_MESHES = re.compile(r'sdy\.mesh @"?([\w.$-]+)"? = #?(?:sdy\.mesh)?<\[([^\]]*)\]')
_AXIS = re.compile(r'"?([\w.-]+)"?\s*=\s*(\d+)')
_SHARDY = re.compile(r'sharding<@"?([\w.$-]+)"?, \[(.*)\]')
_TILES = re.compile(r"devices=\[([\d,]+)\]")
_DONATED = ("tf.aliasing_output", "jax.buffer_donor")


def least(module: Any, text: str, partitions: int) -> dict[str, Any]:
    """Bytes of one device that are certain: ``bytes``, of which ``arguments``, and ``results``
    beyond donated arguments.

    Args:
        text: the module's, for its meshes.
        partitions: devices that share its arrays.
    """
    divided = _Divided(text, partitions)
    main = _main(module)
    arguments = divided.all(main.arguments, main.arg_attrs)
    given = main.attributes
    declared = main.result_attrs if "res_attrs" in given else [{}] * len(main.type.results)
    results = sum(map(divided.of, main.type.results, declared))
    donated = [any(key in each for key in _DONATED) for each in main.arg_attrs]
    reused = sum(size for size, may in zip(arguments, donated, strict=True) if may)
    held, more = sum(arguments), max(0, results - reused)
    return {"bytes": held + more, "arguments": held, "results": more}


def _main(module: Any) -> Any:
    from jaxlib.mlir import ir

    return ir.SymbolTable(module.operation)["main"]


def _bytes(type_: Any) -> int:
    """Of an array, without padding; 0 if its size is not known, or it is none."""
    if not getattr(type_, "has_static_shape", False):
        return 0
    element = str(type_.element_type)
    bits = 8 if element == "i1" else int((re.findall(r"\d+", element) or [0])[0])
    return int(math.prod(type_.shape)) * bits * (1 + element.startswith("complex")) // 8


class _Divided:
    """The part of arrays that one device holds."""

    def __init__(self, text: str, partitions: int) -> None:
        self.partitions = partitions
        self._meshes = {
            name: {axis: int(size) for axis, size in _AXIS.findall(axes)}
            for name, axes in _MESHES.findall(text)
        }

    def all(self, values: Any, declared: Any) -> list[int]:
        """Of each argument."""
        return [self.of(value.type, has) for value, has in zip(values, declared, strict=True)]

    def of(self, type_: Any, has: Any) -> int:
        """Of an argument or a result, by its attributes."""
        size = _bytes(type_)
        if any("host" in str(has[key]) for key in ("mhlo.memory_kind",) if key in has):
            return 0
        if self.partitions == 1 or not size:
            return size
        parts = self._parts(has, len(type_.shape))
        if parts is None or len(parts) != len(type_.shape):
            return size // self.partitions
        shape = [*map(int, type_.shape)]
        held = math.prod(-(-each // part) for each, part in zip(shape, parts, strict=True))
        return size * held // math.prod(shape)

    def _parts(self, has: Any, rank: int) -> list[int] | None:
        """Into how many parts each dimension is divided; None if that is not certain."""
        if "sdy.sharding" in has:
            match = _SHARDY.search(str(has["sdy.sharding"]))
            if match is None or "?" in match[2] or match[1] not in self._meshes:
                return None
            axes = self._meshes[match[1]]
            dims = re.findall(r"\{([^}]*)\}", match[2])[:rank]
            return [math.prod(_size(each, axes) for each in dim.split(", ")) for dim in dims]
        said = str(has["mhlo.sharding"]) if "mhlo.sharding" in has else ""
        if said.strip('"') == "{replicated}":
            return [1] * rank
        tiles = _TILES.search(said)
        return [*map(int, tiles[1].split(","))][:rank] if tiles else None


def _size(axis: str, axes: dict[str, int]) -> int:
    """Devices along an axis of a mesh, or along a part of one: ``"x":(2)4``."""
    name, _, part = axis.partition(":")
    return int(part.rpartition(")")[2]) if part else axes.get(name.strip('"'), 1)
