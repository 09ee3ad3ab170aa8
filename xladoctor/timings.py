"""Where a command's own time goes: seconds of processor time by phase."""

from __future__ import annotations

import os
from time import process_time

#: By phase, in the order of their first end. Threads of libraries are included.
_seconds: dict[str, float] = {}
_last = 0.0  # the process's clock begins with it


def done(phase: str) -> None:
    """A phase has ended: what was used since the last one ended is its time."""
    global _last  # noqa: PLW0603 - there is one processor clock, the process's
    now = process_time()
    _seconds[phase] = _seconds.get(phase, 0.0) + now - _last
    _last = now


def described() -> str:
    """The phases: ``processor time 1.31 s: start 0.42, reading 0.31, …``."""
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in _seconds.items())
    return f"processor time {sum(_seconds.values()):.2f} s: {phases}"


def _begin_again() -> None:
    global _last  # noqa: PLW0603
    _last = 0.0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)
