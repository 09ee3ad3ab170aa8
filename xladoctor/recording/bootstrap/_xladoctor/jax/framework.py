"""The imported JAX, as the capture uses it. JAX counts nothing itself, so the hooks do."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from .. import options
from ..calls import Calls
from ..event_counters import EventCounters
from ..framework import Framework
from ..frontend import InJob, Setting
from ..libtpu import of_libtpu
from ..profiler import Profiler
from ..recorder import Recorder
from .adapter import Adapter
from .live import JaxArrays
from .modules import Modules
from .profiles import Profiles

_ACCELERATORS = {"TPU": "/dev/accel0", "GPU": "/dev/nvidia0"}


class ImportedJax(Framework):
    """See :class:`..framework.Framework`."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.counters: EventCounters = EventCounters()
        self.profiles = Profiles()
        self._modules = Modules()
        self._adapter: Adapter | None = None

    def install(self, calls: Calls) -> None:
        try:
            self._adapter = Adapter(self._module, self.counters, self._modules, calls)
            self.meshes = self._adapter.meshes
            self._adapter.install()
        except Exception as fault:
            if options.read().lower_only:  # it may be too large to be executed
                raise SystemExit(f"xladoctor: cannot lower this program only: {fault!r}") from None
            raise

    def annotation(self, name: str, **values: Any) -> Any:
        from jaxlib._profiler import TraceMe

        return TraceMe(name, **values)

    def settings(self) -> dict[str, Setting]:
        return {} if self._adapter is None else self._adapter.config_changes.settings()

    def versions(self) -> dict[str, str]:
        jaxlib = sys.modules.get("jaxlib")
        found = {"jax": self._module.__version__, "jaxlib": getattr(jaxlib, "__version__", "")}
        return {**found, **of_libtpu()}

    @property
    def misplaces_lines(self) -> bool:
        """Before 0.9, Shardy numbers stacks again, while operations keep the old numbers."""
        version = re.match(r"0\.(\d+)", self.versions()["jaxlib"])
        shardy = getattr(self._module.config, "jax_use_shardy_partitioner", False)
        return version is not None and int(version[1]) < 9 and bool(shardy)

    @property
    def unheard(self) -> str | None:
        return None if self._adapter is None else self._adapter.unheard

    @property
    def accelerators(self) -> list[str] | None:
        return [kind for kind, file in _ACCELERATORS.items() if os.path.exists(file)]

    def devices(self) -> list[str]:
        """Devices of the backends in use; other ways to query them would create a backend."""
        return [f"{device.platform.upper()}:{device.id}" for device in self._local_devices()]

    @staticmethod
    def _local_devices() -> list[Any]:
        bridge = sys.modules.get("jax._src.xla_bridge")
        backends = getattr(bridge, "_backends", None) or {}
        chosen = getattr(bridge, "_default_backend", None) or next(iter(backends.values()), None)
        return [] if chosen is None else list(chosen.local_devices())

    @property
    def in_job(self) -> InJob:
        state: Any = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
        count = getattr(state, "num_processes", 1) or 1
        if count < 2:
            return InJob()
        return InJob(state.process_id, count, self._slice())

    def _slice(self) -> int | None:
        """The slice of this process's TPUs; other devices have none that means anything."""
        found = [
            getattr(device, "slice_index", None)
            for device in self._local_devices()
            if device.platform == "tpu"
        ]
        return found[0] if found else None

    def arrays(self) -> JaxArrays:
        return JaxArrays(self._module)

    def modules(self, profiler: Profiler, recorder: Recorder, folder: str, limit: int) -> Modules:
        self._modules.keep(folder, limit)
        return self._modules
