"""The imported torch, as the capture uses it."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

from ..call_site import CallSites
from ..calls import Calls
from ..event_counters import EventCounters
from ..frontend import InJob
from ..idle import NoModules, Probe, SourceLines
from ..profiler import Profiler
from ..pytorch.results import watch
from ..recorder import Recorder
from .adapter import Adapter
from .profiles import Profiles


class ImportedTorch:
    """See :class:`..frontend.Framework`."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.counters = EventCounters()
        self.profiles = Profiles()
        self._adapter: Adapter | None = None

    def install(self, calls: Calls) -> None:
        watch(self._module)
        self._adapter = Adapter(self._module, self.counters, calls)
        self._adapter.install()

    def uninstall(self) -> None:
        if self._adapter is not None:
            self._adapter.uninstall()

    def source_lines(self) -> SourceLines:
        return SourceLines()

    def probe(
        self, recorder: Recorder, sites: CallSites, fail: Callable[[Exception], None]
    ) -> Probe:
        return Probe()

    def annotation(self, name: str, **values: Any) -> Any:
        from torch._C._profiler import _RecordFunctionFast

        return _RecordFunctionFast(name)  # values would only be recorded with argument shapes

    def settings(self) -> dict[str, Any]:
        return {}

    def versions(self) -> dict[str, str]:
        triton = getattr(sys.modules.get("triton"), "__version__", None)
        return {"torch": self._module.__version__, **({"triton": triton} if triton else {})}

    @property
    def accelerators(self) -> list[str] | None:
        return ["CUDA"] if os.path.exists("/dev/nvidia0") else []

    def devices(self) -> list[str]:
        """See :meth:`..frontend.Framework.devices`; the CPU if no other device is in use."""
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

    @property
    def missing(self) -> dict[str, str]:
        own = self._adapter.missing if self._adapter is not None else {}
        return {**own, **self.profiles.missing}

    def modules(self, profiler: Profiler, recorder: Recorder, folder: str, limit: int) -> NoModules:
        return NoModules()
