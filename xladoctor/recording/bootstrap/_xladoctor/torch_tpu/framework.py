"""The imported TorchTPU, as the capture uses it."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ..calls import Calls
from ..framework import KeptModules
from ..frontend import Setting
from ..profiler import Profiler
from ..recorder import Recorder
from ..torch.framework import ImportedTorch
from .adapter import Adapter
from .counters import Counters

_PACKAGES = ("torch_tpu", "libtpu")


class ImportedTorchTpu(ImportedTorch):
    """See :class:`..framework.Framework`."""

    def __init__(self, module: Any) -> None:
        super().__init__(sys.modules["torch"])
        self.counters: Counters = Counters()
        self._adapter: Adapter | None = None

    def install(self, calls: Calls) -> None:
        self._adapter = Adapter(self._module, self.counters, calls)
        self._adapter.install()

    def modules(
        self, profiler: Profiler, recorder: Recorder, folder: str, limit: int
    ) -> KeptModules:
        return KeptModules() if self._adapter is None else _Buffer(self._adapter)

    def settings(self) -> dict[str, Setting]:
        return {} if self._adapter is None else self._adapter.modes.settings()

    def versions(self) -> dict[str, str]:
        found = {"torch": self._module.__version__}
        for package in _PACKAGES:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                continue
        return found

    @property
    def accelerators(self) -> list[str] | None:
        return ["TPU"] if os.path.exists("/dev/accel0") or os.path.exists("/dev/vfio/0") else None

    def devices(self) -> list[str]:
        """See :meth:`..framework.Framework.devices`; empty until the program uses the device."""
        if self._adapter is None or not self._adapter.in_use():
            return []
        return [f"TPU:{number}" for number in range(self._module.accelerator.device_count())]


class _Buffer(KeptModules):
    """No compiled modules are kept; what is collected at the end are the launches."""

    def __init__(self, adapter: Adapter) -> None:
        super().__init__()
        self._launches = adapter.launches

    def collect(self) -> None:
        self._launches.finish()
