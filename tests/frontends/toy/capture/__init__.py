"""The capture of programs that use toyarrays."""

from __future__ import annotations

import contextlib
from typing import Any

from ..event_counters import EventCounters
from ..framework import Framework, Profiles
from ..frontend import Frontend


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


class _Toy(Framework):
    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.counters = _Counters(module)
        self.profiles = Profiles()

    def install(self, calls: Any) -> None:
        replace = self.hooks.replace
        replace(self._module, "sync", calls.barrier)
        replace(self._module, "array", calls.after(calls.events.used, handed=False))
        replace(self._module.Array, "item", calls.reading("item"))

    def annotation(self, name: str, **values: Any) -> Any:
        return contextlib.nullcontext()

    def versions(self) -> dict[str, str]:
        return {"toyarrays": self._module.__version__}

    def devices(self) -> list[str]:
        return ["TOY:0"]


class _Frontend(Frontend):
    name = "toyarrays"
    packages = frozenset(("toyarrays",))
    recorded = ()
    ranks = ()

    def attach(self, module: Any) -> _Toy:
        return _Toy(module)


FRONTEND = _Frontend()
