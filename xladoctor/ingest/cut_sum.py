"""What the parts of a step add up to: a read that launches work cuts it in two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from xladoctor.facts.calls import DataWait, HostSync, StateSave, Upload
from xladoctor.facts.steps import Step
from xladoctor.ingest.fact_decoder import decoded
from xladoctor.recording.bootstrap._xladoctor.facts import Fact

_S = TypeVar("_S", bound=Step)
_values_of: Callable[[Any], tuple[Any, ...]] = msgspec.structs.astuple
_replaced: Callable[..., Any] = msgspec.structs.replace
_NUMBERS = (
    "duration_ns",
    "barriers",
    "barrier_ns",
    "compile_ns",
    "capture_ns",
    "executions",
    "compilations",
    "launches",
)
#: Lists of calls, and how many values, the first ones, identify a call; the others add up.
_CALLS: dict[str, tuple[type[Fact], int]] = {
    "reads": (decoded(HostSync), 3),
    "uploads": (decoded(Upload), 1),
    "saves": (decoded(StateSave), 1),
}
_WAIT: Callable[..., Fact] = decoded(DataWait)
_COUNTS = ("optimizers", "counters", "fallbacks")


class CutSum:
    """Adds up the cuts of a step; what one more costs does not depend on how many there are.

    Attributes:
        last: the last of them.
    """

    def __init__(self) -> None:
        self.last: Any = None
        self._numbers = dict.fromkeys(_NUMBERS, 0)
        self._calls: dict[str, dict[tuple[Any, ...], tuple[int, ...]]] = {
            name: {} for name in (*_CALLS, "input")
        }
        self._counts: dict[str, dict[Any, int]] = {name: {} for name in _COUNTS}
        self._log_offset = 0
        self._traced = self._probed = False

    def add(self, line: Step) -> None:
        """Add the next line."""
        self.last = line
        for name in _NUMBERS:
            self._numbers[name] += getattr(line, name)
        for name, (_, keys) in _CALLS.items():
            for call in getattr(line, name):
                self._add_call(name, call, keys)
        if line.input is not None and line.input.count:
            self._add_call("input", line.input, 0)
        for name in _COUNTS:
            sums = self._counts[name]
            for key, count in dict(getattr(line, name)).items():
                sums[key] = sums.get(key, 0) + count
        self._log_offset = line.log_offset or self._log_offset
        self._traced |= line.traced
        self._probed |= line.probed

    def _add_call(self, name: str, call: Fact, keys: int) -> None:
        values, sums = _values_of(call), self._calls[name]
        key, more = values[:keys], values[keys:]
        sums[key] = tuple(map(sum, zip(sums[key], more, strict=True))) if key in sums else more

    def whole(self, line: _S) -> _S:
        """The line, with the sums in place of its own numbers and calls."""
        calls = {
            name: tuple(kind(*key, *values) for key, values in self._calls[name].items())
            for name, (kind, _) in _CALLS.items()
        }
        waits = [_WAIT(*values) for values in self._calls["input"].values()]
        whole: _S = _replaced(
            line,
            **self._numbers,
            **calls,
            **{**self._counts, "optimizers": tuple(self._counts["optimizers"].items())},
            input=waits[0] if waits else None,
            log_offset=self._log_offset,
            traced=self._traced,
            probed=self._probed,
        )
        return whole
