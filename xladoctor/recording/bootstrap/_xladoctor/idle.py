"""Null objects, for frontends without a switch for source lines, fallbacks or modules."""

from __future__ import annotations

from typing import Any

from .step import ThreadState


class SourceLines:
    """See :class:`.frontend.SourceLines`: always recorded by the framework, or never."""

    recording = False

    def begin(self) -> None: ...

    def before_call(self) -> None: ...

    def after_call(self) -> None: ...

    def step(self, quiet: int) -> None: ...

    def forget(self) -> None: ...

    def end(self) -> None: ...


class Probe:
    """See :class:`.frontend.Probe`: nothing falls back."""

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


class NoModules:
    """See :class:`.frontend.KeptModules`: the framework has no modules to keep."""

    too_large = False

    def __init__(self) -> None:
        self.files: list[dict[str, Any]] = []

    def tick(self) -> None: ...

    def collect(self) -> None: ...

    def collect_earlier(self) -> None: ...
