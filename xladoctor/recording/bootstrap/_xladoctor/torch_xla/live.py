"""The tensors of torch_xla that are alive: how many, and which of them Python objects are."""

from __future__ import annotations

from typing import Any

from ..call_site import CallSites
from ..live_memory import Arrays, Made


class XlaTensors(Arrays):
    """See :class:`..live_memory.Arrays`. What line made a tensor is not known."""

    known = True

    def __init__(self, torch: Any, xlac: Any) -> None:
        self._classes = (torch.Tensor, torch.nn.Parameter)
        self._value = xlac._xla_counter_value

    def made(self, sites: CallSites) -> dict[int | None, Made]:
        """By the counters of the extension, which include what only autograd holds."""
        alive = (self._value("CreateXlaTensor") or 0) - (self._value("DestroyXlaTensor") or 0)
        return {None: (max(0, alive), None)}

    def is_one(self, value: Any) -> bool:
        return type(value) in self._classes and bool(value.is_xla)

    def size(self, array: Any) -> int:
        return int(array.numel() * array.element_size())

    def keeps_graph(self, array: Any) -> bool:
        return array.grad_fn is not None
