"""The capture of programs that use toyarrays."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable

from ..event_counters import EventCounters
from ..frontend import InJob
from ..idle import NoModules, Probe, SourceLines
from ..patches import Patches


class _Profiles:
    suffix = ".xplane.pb"
    light = True
    open = None  # it has none

    def hand_over(self, begin: Any, end: Any) -> None: ...

    def take_back(self) -> None: ...


class _Counters(EventCounters):
    reports_each = False

    def __init__(self, module: Any) -> None:
        super().__init__()
        self._made = module.compilations
        self._again = module.launched_again

    def compiled(self) -> int | None:
        return len(self._made) or None

    def relaunched(self) -> int | None:
        return len(self._again) or None

    def compile_times(self) -> Any:
        return len(self._made), sum(each for _, each in self._made), self._made


class _Toy:
    """The imported framework."""

    accelerators: list[str] = []
    in_job = InJob()
    missing: dict[str, str] = {}

    def __init__(self, module: Any) -> None:
        self._module = module
        self._patches = Patches()
        self.counters = _Counters(module)
        self.profiles = _Profiles()

    def install(self, calls: Any) -> None:
        replace = self._patches.replace
        replace(self._module, "sync", calls.barrier)
        replace(self._module, "array", functools.partial(_used, calls))
        replace(self._module.Array, "item", functools.partial(_read, calls))

    def uninstall(self) -> None:
        self._patches.undo()

    def source_lines(self) -> SourceLines:
        return SourceLines()

    def probe(self, recorder: Any, sites: Any, fail: Any) -> Probe:
        return Probe()

    def annotation(self, name: str, **values: Any) -> Any:
        return contextlib.nullcontext()

    def settings(self) -> dict[str, Any]:
        return {}

    def versions(self) -> dict[str, str]:
        return {"toyarrays": self._module.__version__}

    def devices(self) -> list[str]:
        return ["TOY:0"]

    def modules(self, profiler: Any, recorder: Any, folder: str, limit: int) -> NoModules:
        return NoModules()


def _used(calls: Any, original: Any) -> Callable[..., Any]:
    def array(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        calls.events.used()
        return result

    return array


def _read(calls: Any, original: Any) -> Callable[..., Any]:
    def item(array: Any) -> Any:
        if calls.recorder.off or calls.is_inside():
            return original(array)
        return calls.read("item", original, array)

    return item


class _Frontend:
    name = "toyarrays"
    packages = frozenset(("toyarrays",))
    recorded: tuple[str, ...] = ()
    ranks: tuple[tuple[str, str], ...] = ()
    entries: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    logs = False

    def before_import(self) -> None: ...

    def attach(self, module: Any) -> _Toy:
        return _Toy(module)

    def begin_log(self, path: str, users: dict[str, str]) -> str | None:
        return None


FRONTEND = _Frontend()
