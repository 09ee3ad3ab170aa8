"""The timeline: the TSL profiler over a bounded window at the start of the program.

`xp.stop_trace()` would also build a `trace.json.gz`, which takes as long again; the serialized
XSpace that `TslProfilerSessionWrapper.stop()` returns is written as it is.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import Any


@dataclass
class Limits:
    """When the window closes: whichever comes first. Compiling and blocking do not count."""

    steps: int
    seconds: float


class Timeline:
    """One profiler session; thread-safe, since the clock may end it on the writer's thread."""

    def __init__(self, xlac: Any, path: str, limits: Limits, ir_debug: bool) -> None:
        self._xlac = xlac
        self._make_session = xlac.profiler.TslProfilerSessionWrapper
        self._path = path
        self._limits = limits
        self._lock = threading.Lock()
        self._session: Any = None
        self._ir_debug_afterwards = ir_debug
        self._steps = 0
        self._spent = 0.0
        self._last_tick = 0.0
        self.state = "waiting" if limits.steps > 0 else "off"
        self.window: dict[str, Any] = {}

    @property
    def active(self) -> bool:
        return self._session is not None

    def arm(self) -> None:
        """Record source lines in the graphs from now on, so that the first graph has them."""
        self._xlac._set_ir_debug(self.state == "waiting" or self._ir_debug_afterwards)

    def begin(self) -> None:
        """Open the window, at the program's first barrier or read."""
        with self._lock:
            if self.state != "waiting":
                return
            self.state = "open"
            self.window = {"begin_ns": time.time_ns()}
            self._last_tick = time.monotonic()
            self._session = self._make_session()

    def step(self) -> None:
        """A step was closed; the window may have to close with it."""
        self._steps += 1
        if self.active and self._steps >= self._limits.steps:
            self.end("step limit")

    def tick(self, busy: bool) -> None:
        """Called four times a second; ``busy``: the program is inside a compilation or a wait."""
        if not self.active:
            return
        now = time.monotonic()
        self._spent += 0.0 if busy else now - self._last_tick
        self._last_tick = now
        if not busy and self._spent >= self._limits.seconds:
            self.end("time limit")

    def end(self, why: str) -> None:
        """Close the window and write it."""
        with self._lock:
            session, self._session = self._session, None
            if self.state in ("off", "closed"):
                return
            self.state = "closed"
            self._xlac._set_ir_debug(self._ir_debug_afterwards)
            if session is None:
                return
            began = time.perf_counter_ns()
            self.window |= {"end_ns": time.time_ns(), "steps": self._steps, "ended_by": why}
            space = session.stop()
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with open(self._path + ".new", "wb") as file:
                file.write(space)
            os.replace(self._path + ".new", self._path)
            self.window |= {"bytes": len(space), "file": os.path.basename(self._path),
                            "stop_ns": time.perf_counter_ns() - began}  # fmt: skip
