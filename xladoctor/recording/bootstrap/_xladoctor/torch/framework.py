"""The imported torch, as the capture uses it."""

from __future__ import annotations

import os
import sys
from typing import Any

from ..calls import Calls
from ..event_counters import EventCounters
from ..framework import Framework
from ..frontend import InJob
from ..pytorch.results import watch
from .adapter import Adapter
from .profiles import Profiles


class ImportedTorch(Framework):
    """See :class:`..framework.Framework`."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.counters: EventCounters = EventCounters()
        self.profiles = Profiles()

    def install(self, calls: Calls) -> None:
        watch(self._module)
        Adapter(self._module, self.counters, calls).install()

    def annotation(self, name: str, **values: Any) -> Any:
        from torch._C._profiler import _RecordFunctionFast

        return _RecordFunctionFast(name)  # values would only be recorded with argument shapes

    def versions(self) -> dict[str, str]:
        triton = getattr(sys.modules.get("triton"), "__version__", None)
        return {"torch": self._module.__version__, **({"triton": triton} if triton else {})}

    @property
    def accelerators(self) -> list[str] | None:
        return ["CUDA"] if os.path.exists("/dev/nvidia0") else []

    def devices(self) -> list[str]:
        """See :meth:`..framework.Framework.devices`; the CPU if no other device is in use."""
        cuda = sys.modules.get("torch.cuda")
        if cuda is None or not cuda.is_initialized():
            return ["CPU:0"]
        return [f"CUDA:{number}" for number in range(cuda.device_count())]

    @property
    def in_job(self) -> InJob:
        distributed: Any = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available():
            return InJob()
        if not distributed.is_initialized():
            return InJob()
        return InJob(distributed.get_rank(), distributed.get_world_size())
