"""What frontends of PyTorch record of Dynamo's work."""

from __future__ import annotations

import re
from types import CodeType, FrameType
from typing import Any

from ..calls import Calls, Installer
from ..facts import Break, Limit, Unbroken
from . import breaks, guards

#: Each phase of compiling -> the metric with its microseconds, which include the next phase's.
_PHASES = {
    "dynamo": "dynamo_cumulative_compile_time_us",
    "aot": "aot_autograd_cumulative_compile_time_us",
    "inductor": "inductor_cumulative_compile_time_us",
    "triton": "triton_compile_time_us",
}
_OF_BACKWARD = "backward_cumulative_compile_time_us"
#: Finds the name of the limit in the error with which Dynamo gives up.
_LIMIT = re.compile(r"\b(\w*(?:recompile|cache_size)_limit)\b")
#: The error raised at the limit if a function must not run eagerly: fullgraph=True, or a setting.
ABORTS = "FailOnRecompileLimitHit"


class Attempt:
    """An attempt of Dynamo to compile a frame.

    Attributes:
        id: such as ``3/1``: the second time for the fourth frame.
        spent: nanoseconds that it took.
        phases: nanoseconds of each phase by itself.
        metrics: as Dynamo collects them.
        site: where the compiled function is called.
        error: why Dynamo gave up, if it did.
        cached: whether the code came from a cache on disk; None if unknown.
        dynamic: whether sizes that have changed are made dynamic; None if unknown.
        code: the function's code; with the reason and the frame's values if it was compiled before.
        used: the line that needs the guard that failed; None if unknown.
        wraps: the function that is called by a wrapper of torch's, if that is compiled; else empty.
    """

    cached: bool | None = None
    dynamic: bool | None = None
    code: CodeType | None = None
    reason: str | None = None
    frame: guards.Frame | None = None
    used: int | None = None
    wraps: str = ""

    def __init__(
        self,
        number: str,
        spent: int,
        phases: dict[str, int],
        metrics: dict[str, Any],
        site: int | None,
        error: Any,
    ) -> None:
        self.id, self.spent, self.phases = number, spent, phases
        self.metrics, self.site, self.error = metrics, site, error

    @property
    def function(self) -> str:
        """The name of what is compiled."""
        name = self.wraps or self.metrics.get("co_name") or (self.code.co_name if self.code else "")
        return breaks.function_name(str(name))

    @property
    def change(self) -> guards.Change | None:
        """What is new since the most recent compilation of the function."""
        if self.reason is None or self.frame is None:
            return None
        change = guards.change(self.reason, self.frame)
        if self.wraps and change.what == "function":  # the wrapper's variable says nothing
            return change._replace(argument="")
        return change


class Listener(Installer):
    """Receives what Dynamo does, and records what all frontends of PyTorch record of it.

    Attributes:
        parts: parts of compiled functions run so far.
    """

    parts = 0

    def __init__(self, calls: Calls) -> None:
        super().__init__(calls)
        self._logged: set[Any] = set()
        self._traced: dict[Any, set[bool]] = {}  # by site and function: traced with breaks, without

    def called(self) -> None:
        """Called before a call of a compiled function that is not within another's."""

    def returned(self, wrapper: FrameType) -> None:
        """Called after it; ``wrapper``: the frame of what runs the compiled function."""

    def cached(self, counters: Any) -> bool | None:
        """Whether the latest compiled code came from a cache on disk; None if unknown."""
        return None

    def compiled(self, attempt: Attempt) -> None:
        """Called when a frame has been compiled."""

    def spent(self, attempt: Attempt) -> None:
        """Called when compiling took time without a new graph, or before the backward pass's."""

    def traced(self, attempt: Attempt, broken: bool) -> None:
        """Note whether a compilation of a function was split, since not every one need be."""
        if not self._events.awake or (attempt.error is not None and not broken):
            return
        ways = self._traced.setdefault((attempt.site, attempt.function), set())
        if broken not in ways:
            ways.add(broken)
            if len(ways) > 1:
                self._recorder.log_fact(Unbroken(site=attempt.site, function=attempt.function))

    def broken(
        self, site: int | None, place: int | None, function: str, why: str, hint: str, whole: bool
    ) -> None:
        """Called at a graph break. ``whole``: the function cannot be split, so is not compiled."""
        if not self._events.awake:
            return
        if (place, why) not in self._logged:
            self._logged.add((place, why))
            self._recorder.log_fact(
                Break(
                    site=site,
                    place=place,
                    function=function,
                    reason=why,
                    hint=hint,
                    whole=whole,
                    ordinal=self._calls.sites.launches.get(site, 0),
                )
            )

    def limited(self, attempt: Attempt, name: str, size: Any) -> None:
        """Called when a function has reached a limit, from which on Dynamo runs it eagerly."""
        code, change = attempt.code, attempt.change
        if not self._events.awake or code is None or (code, "limit") in self._logged:
            return
        self._logged.add((code, "limit"))
        self._recorder.log_fact(
            Limit(
                site=attempt.site,
                function=attempt.function,
                defined=self._calls.definition(code),
                name=name,
                size=size if isinstance(size, int) else None,
                ordinal=self._calls.sites.launches.get(attempt.site, 0),
                dynamic=attempt.dynamic,
                changes=((*change,),) if change else (),
                aborts=type(attempt.error).__name__ == ABORTS,
                used=attempt.used,
                hint=guards.hint(attempt.reason or ""),
            )
        )


def limit_in(kind: str, text: str) -> str | None:
    """The limit that an error says made Dynamo give up; None for other errors."""
    match = _LIMIT.search(text)
    return match[1] if match else "recompile_limit" if kind == ABORTS else None


def phases_of(metrics: dict[str, Any], spent: int) -> dict[str, int]:
    """Nanoseconds of each phase, without the phases within it.

    Args:
        spent: nanoseconds in total.
    """
    times = {name: int(metrics.get(key) or 0) * 1000 for name, key in _PHASES.items()}
    times["aot"] = max(times["aot"], int(metrics.get(_OF_BACKWARD) or 0) * 1000)
    times["dynamo"] = max(times["dynamo"], times["aot"])
    names = [*times]
    own = {
        name: max(0, times[name] - (times[names[number + 1]] if number + 1 < len(names) else 0))
        for number, name in enumerate(names)
    }
    own["other"] = max(0, spent - sum(own.values()))
    return {name: time for name, time in own.items() if time}
