"""When torch_xla records the Python lines of operations (IR debugging): while graphs are new.

Recording costs a tenth of the tracing, so it is off once the loop compiles nothing any more. A
graph that is compiled later has no lines of its own then; but IR debugging is on again in every
barrier, read and save, where graphs are lowered, so that its instructions have the names of their
operations, by which the reader finds the lines in the graph that was compiled before. The hash of a
graph does not depend on it.
"""

from __future__ import annotations

import threading
from typing import Any

_UNTIL_OFF = 16  # barriers in a row without a compilation


class SourceLines:
    """Switches IR debugging at run time; never where the user asked for it."""

    def __init__(self, xlac: Any) -> None:
        self._xlac = xlac
        self._lock = threading.Lock()
        self._ours = False
        self._recording = True
        self._lowering = 0  # threads within a call that may lower a graph
        self.quiet = 0  # barriers since the last compilation

    def begin(self) -> None:
        """On from the start, so that the first graph has lines."""
        with self._lock:
            self._ours = not self._xlac._get_ir_debug()
            if self._ours:
                self._xlac._set_ir_debug(True)

    def before_call(self) -> None:
        """A call begins that may lower a graph."""
        self._call(1)

    def after_call(self) -> None:
        """It returned."""
        self._call(-1)

    def _call(self, change: int) -> None:
        with self._lock:
            self._lowering += change
            if self._ours and not self._recording:
                self._xlac._set_ir_debug(self._lowering > 0)

    def step(self, compiled: bool) -> None:
        """A barrier closed a step; ``compiled``: something was compiled in it."""
        self.quiet = 0 if compiled else self.quiet + 1
        recording = self.quiet < _UNTIL_OFF
        if recording != self._recording:
            with self._lock:
                self._recording = recording
                if self._ours:
                    self._xlac._set_ir_debug(recording or self._lowering > 0)

    def forget(self) -> None:
        """In a forked child, where the lock may be held by a thread that is not there."""
        if self._ours:
            self._xlac._set_ir_debug(False)

    def end(self) -> None:
        """As the program would have it without us."""
        with self._lock:
            if self._ours:
                self._ours = False
                self._xlac._set_ir_debug(False)
