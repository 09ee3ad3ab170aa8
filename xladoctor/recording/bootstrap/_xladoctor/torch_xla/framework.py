"""The imported torch_xla, as the capture uses it through its extension module."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable, Sequence

from .. import settings
from ..call_site import CallSites
from ..calls import Calls
from ..framework import Framework
from ..frontend import InJob, Setting
from ..libtpu import of_libtpu
from ..modules import Modules
from ..profiler import Profiler
from ..recorder import Recorder
from .adapter import Adapter
from .live import XlaTensors
from .probe import Probe
from .profiles import Profiles
from .source_lines import SourceLines

_CACHE_SIZE = 2048  # graphs, unless XLA_COMPILATION_CACHE_SIZE is set


class ImportedTorchXla(Framework):
    """See :class:`..framework.Framework`."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self._xlac = module._XLAC
        self.counters = Counters(self._xlac)
        self.profiles = Profiles(self._xlac)
        self._settings: dict[str, Setting] = {}

    def install(self, calls: Calls) -> None:
        adapter = Adapter(self._xlac, calls)
        self._settings = adapter.settings
        self.meshes = adapter.meshes
        adapter.install()

    def source_lines(self) -> SourceLines:
        return SourceLines(self._xlac)

    def probe(
        self, recorder: Recorder, sites: CallSites, fail: Callable[[Exception], None]
    ) -> Probe:
        return Probe(self.counters, sites, recorder, fail)

    def annotation(self, name: str, **values: Any) -> Any:
        return self._xlac.profiler.TraceMe(name, **values)

    def settings(self) -> dict[str, Setting]:
        return self._settings

    @property
    def unheard(self) -> str | None:
        """Nobody listens to the compiler; without a mesh, it has nothing to partition."""
        return None if self.meshes else ""

    def versions(self) -> dict[str, str]:
        found = {"torch": sys.modules["torch"].__version__, "torch_xla": self._module.__version__}
        return {**found, **of_libtpu("torch_xla")}

    @functools.cached_property
    def accelerators(self) -> list[str] | None:
        kinds = ["NEURON"] if os.path.exists("/dev/neuron0") else []
        try:
            from torch_xla._internal import tpu

            return ["TPU"] * bool(tpu.num_available_chips()) + kinds
        except Exception:  # private, so another release may differ; or the host hides its devices
            return None

    def devices(self) -> list[str]:
        initialized = self._xlac._xla_runtime_is_initialized()
        return list(self._xlac._xla_real_devices()) if initialized else []

    @property
    def in_job(self) -> InJob:
        if not self._xlac._xla_runtime_is_initialized():
            return InJob()
        count = self._xlac._xla_get_num_processes()
        return InJob(self._xlac._xla_get_process_index(), count) if count > 1 else InJob()

    def arrays(self) -> XlaTensors:
        return XlaTensors(sys.modules["torch"], self._xlac)

    def modules(self, profiler: Profiler, recorder: Recorder, folder: str, limit: int) -> Modules:
        return Modules(profiler, recorder, folder, limit, self._kept_modules)

    def _kept_modules(self) -> int:
        """How many compiled graphs torch_xla keeps before it drops old ones."""
        size = settings.whole_number("XLA_COMPILATION_CACHE_SIZE")
        return _CACHE_SIZE if size is None else size


class Counters:
    """See :class:`..frontend.Counters`."""

    reports_each = False
    #: The counter of `.item()`.
    reads = frozenset(("aten::_local_scalar_dense",))

    def __init__(self, xlac: Any) -> None:
        value: Callable[[str], int | None] = xlac._xla_counter_value
        self.value = value
        self.compiled: Callable[[], int | None] = functools.partial(value, "UncachedCompile")
        self.relaunched: Callable[[], int | None] = functools.partial(value, "CachedCompile")
        self._metric = xlac._xla_metric_data
        self.names = xlac._xla_counter_names
        self.fallbacks = xlac._get_executed_fallback_ops  # as fast as reading one counter
        self.report: Callable[[], str] | None = xlac._xla_metrics_report

    def compile_times(self) -> tuple[int, float, Sequence[tuple[float, float]]]:
        return self._metric("CompileTime") or (0, 0.0, ())

    def is_fallback(self, name: str) -> bool:
        return "::" in name and not name.startswith(("xla::", "torch_xla::"))
