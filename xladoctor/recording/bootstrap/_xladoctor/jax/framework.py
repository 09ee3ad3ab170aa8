"""The imported JAX: what the capture asks of it. It counts nothing itself, so the hooks do."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Sequence

from ..call_site import CallSites
from ..calls import Calls
from ..profiler import Profiler
from ..recorder import Recorder
from ..step import ThreadState
from .adapter import Adapter
from .modules import Modules
from .profiles import Profiles

_ACCELERATORS = {"TPU": "/dev/accel0", "GPU": "/dev/nvidia0"}


class Counters:
    """See :class:`..frontend.Counters`; the hooks count."""

    reads: frozenset[str] = frozenset()
    report: Callable[[], str] | None = None
    tells_each = True

    def __init__(self) -> None:
        self.begun = self.ended = self.launches = 0
        self.compile_ns = 0.0

    def note(self, nanoseconds: float) -> None:
        """A compilation ended."""
        self.ended += 1
        self.compile_ns += nanoseconds

    def compiled(self) -> int | None:
        return self.begun or None

    def relaunched(self) -> int | None:
        return self.launches or None

    def value(self, name: str) -> int | None:
        return None

    def compile_times(self) -> tuple[int, float, Sequence[tuple[float, float]]]:
        return self.ended, self.compile_ns, ()  # each is told of when it ends

    def names(self) -> list[str]:
        return []

    def fallbacks(self) -> list[str]:
        return []

    def is_fallback(self, name: str) -> bool:
        return False


class ImportedJax:
    """See :class:`..frontend.Framework`."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.counters = Counters()
        self.profiles = Profiles()
        self._modules = Modules()
        self._adapter: Adapter | None = None

    def install(self, calls: Calls) -> None:
        self._adapter = Adapter(self._module, self.counters, self._modules, calls)
        self._adapter.install()

    def uninstall(self) -> None:
        if self._adapter is not None:
            self._adapter.uninstall()

    def source_lines(self) -> SourceLines:
        return SourceLines()

    def probe(self, recorder: Recorder, sites: CallSites,
              fail: Callable[[Exception], None]) -> Probe:  # fmt: skip
        return Probe()

    def annotation(self, name: str, **values: Any) -> Any:
        from jaxlib._profiler import TraceMe

        return TraceMe(name, **values)

    def versions(self) -> dict[str, str]:
        jaxlib = sys.modules.get("jaxlib")
        return {"jax": self._module.__version__, "jaxlib": getattr(jaxlib, "__version__", "")}

    @property
    def accelerators(self) -> list[str] | None:
        return [kind for kind, file in _ACCELERATORS.items() if os.path.exists(file)]

    def devices(self) -> list[str]:
        """Of the backends in use; asking for them by other ways would make one."""
        bridge = sys.modules.get("jax._src.xla_bridge")
        backends = getattr(bridge, "_backends", None) or {}
        chosen = getattr(bridge, "_default_backend", None) or next(iter(backends.values()), None)
        if chosen is None:
            return []
        return [f"{device.platform.upper()}:{device.id}" for device in chosen.local_devices()]

    @property
    def rank(self) -> int | None:
        state: Any = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
        return state.process_id if getattr(state, "num_processes", 1) > 1 else None

    @property
    def missing(self) -> dict[str, str]:
        return dict(self._adapter.missing) if self._adapter is not None else {}

    def modules(self, profiler: Profiler, recorder: Recorder, folder: str, limit: int) -> Modules:
        self._modules.keep(folder, limit)
        return self._modules


class SourceLines:
    """See :class:`..frontend.SourceLines`: JAX always records them."""

    recording = False

    def begin(self) -> None: ...

    def before_call(self) -> None: ...

    def after_call(self) -> None: ...

    def step(self, quiet: int) -> None: ...

    def forget(self) -> None: ...

    def end(self) -> None: ...


class Probe:
    """See :class:`..frontend.Probe`: nothing falls back."""

    calls = 0

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int | None], list[int]] = {}

    def is_due(self, state: ThreadState) -> bool:
        return False

    def at_barrier(self, state: ThreadState) -> None: ...

    def begin(self, state: ThreadState) -> bool:
        return False

    def end(self, state: ThreadState) -> None: ...

    def stop(self) -> None: ...
