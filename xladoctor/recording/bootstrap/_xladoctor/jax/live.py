"""The arrays of JAX that are alive, with the lines that made them, which JAX remembers itself."""

from __future__ import annotations

from typing import Any

from ..call_site import USER, CallSites, line_of
from ..live_memory import Arrays, Made


class JaxArrays(Arrays):
    """See :class:`..live_memory.Arrays`."""

    known = True

    def __init__(self, module: Any) -> None:
        from jax._src.array import ArrayImpl

        self._alive = module.live_arrays
        self._class = ArrayImpl

    def made(self, sites: CallSites) -> dict[int | None, Made]:
        alike: dict[Any, list[Any]] = {}
        for array in self._alive():
            if array.is_deleted():  # donated, and still held by the program
                continue
            key = array.traceback, array.shape, array.dtype
            alike.setdefault(key, [array, 0])[1] += 1
        made: dict[int | None, Made] = {}
        for array, count in alike.values():
            site, size = self.site(array, sites), self.size(array)
            arrays, total = made.get(site, (0, 0))
            made[site] = arrays + count, (total or 0) + count * size
        return made

    def is_one(self, value: Any) -> bool:
        return type(value) is self._class

    def site(self, array: Any, sites: CallSites) -> int | None:
        traceback = array.traceback
        codes, offsets = ((), ()) if traceback is None else traceback.raw_frames()
        for code, offset in zip(codes, offsets):
            if sites.kind(code.co_filename) == USER:
                line = line_of(code, traceback.code_addr2line(code, offset))
                return sites.intern((*line, None, None, None, ""))
        return None

    def size(self, array: Any) -> int:
        shards = () if array.is_deleted() else array.addressable_shards
        return sum(shard.data.nbytes for shard in shards)
