"""The compiled modules (HLO), whenever they were compiled.

A profiler session, when stopped, returns every module that is loaded. One stopped right after it
was started takes a millisecond and holds nothing else. So modules are collected after compilations
and at the end, apart from the timeline.
"""

from __future__ import annotations

import os
import threading
from typing import Callable

from . import clock
from .files import replace_file
from .framework import KeptModules
from .profiler import Profiler
from .recorder import Recorder

_PAUSE_S = 1.0  # between two collections: compilations often come in bursts
_SHARE = 50  # at most a fiftieth of the time, as it holds the interpreter's lock


class Modules(KeptModules):
    """Writes ``modules.xplane.pb``; a new file each time once the framework may drop modules."""

    def __init__(
        self,
        profiler: Profiler,
        recorder: Recorder,
        folder: str,
        limit: int,
        kept: Callable[[], int],
    ) -> None:
        """``limit``: bytes that files may take; ``kept``: modules that the framework keeps."""
        super().__init__()
        self._profiler = profiler
        self._kept = kept
        self._recorder = recorder
        self._folder = folder
        self._limit = limit
        self._next = 0.0
        self._collecting = threading.Lock()  # the writer's thread or a failing expectation collects

    def tick(self) -> None:
        if clock.monotonic() >= self._next:
            self.collect()

    def collect_earlier(self) -> None:
        self._write(0)

    def collect(self) -> None:
        """Write the modules if there are more than at the last time."""
        with self._collecting:
            compilations = self._recorder.compilations
            compiled = compilations.count
            known = self.files[-1]["compilations"] if self.files else 0
            if compiled > known and not compilations.under_way() and not self._exceeds(compiled):
                self._write(compiled)

    def _write(self, compiled: int) -> None:
        with self._profiler.lock:
            session = self._profiler.start()
            if session is None:  # the timeline's window or the program's own profile is open
                return
            space, spent = self._profiler.stop(session)
        self._next = clock.monotonic() + max(_PAUSE_S, _SHARE * spent / 1e9)
        if not isinstance(space, bytes):
            return
        name = self._name(compiled)
        replace_file(os.path.join(self._folder, name), space)
        self.files = [row for row in self.files if row["file"] != name]
        self.files.append(
            {"file": name, "compilations": compiled, "bytes": len(space), "stop_ns": spent}
        )

    def _exceeds(self, compiled: int) -> bool:
        """Whether the modules would exceed their limit, judging by the last time."""
        if self.files and self.files[-1]["compilations"]:
            last = self.files[-1]
            written = sum(row["bytes"] for row in self.files[:-1])
            expected = last["bytes"] * compiled / last["compilations"]
            self.too_large = written + expected > self._limit
        return self.too_large

    def _name(self, compiled: int) -> str:
        evicted = compiled > self._kept()
        return f"modules-{compiled}.xplane.pb" if evicted or not compiled else "modules.xplane.pb"
