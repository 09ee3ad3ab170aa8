"""When torch_xla records the Python lines of operations (IR debugging): while graphs are new.

Recording costs a tenth of the tracing, so it is off once the loop compiles nothing any more. A
graph that is compiled later has no lines of its own then; but its instructions have the names of
their operations, by which the reader finds the lines in the graph that was compiled before.

They have names where ``XLA_HLO_DEBUG`` is set when the process lowers its first graph: torch_xla
reads it then, once. It must not be set when the device's client is made, as it would enter the hash
of all graphs. So it is set within the calls that may lower that first graph, and only there. Where
the first graph is lowered by other calls, recording stays on.
"""

from __future__ import annotations

import os
import posix
import threading
from typing import Any

_UNTIL_OFF = 16  # barriers in a row without a compilation
_NAMES = "XLA_HLO_DEBUG"


class SourceLines:
    """Switches IR debugging at run time; never where the user asked for it."""

    def __init__(self, xlac: Any) -> None:
        self._xlac = xlac
        self._lock = threading.Lock()
        self._ours = False
        self.recording = True
        users = os.environ.get(_NAMES)
        self._has_names = users is not None and users.lower() not in ("", "0", "false")
        self._may_ask = users is None
        self._asking = 0  # threads within a call that may lower the first graph

    def begin(self) -> None:
        """On from the start, so that the first graph has lines."""
        with self._lock:
            self._ours = not self._xlac._get_ir_debug()
            if self._ours:
                self._xlac._set_ir_debug(True)

    def before_call(self) -> None:
        """A call begins that may lower a graph."""
        if self._has_names or not self._may_ask:
            return
        with self._lock:
            if self._xlac._xla_runtime_is_initialized() and not self._has_compiled():
                self._asking += 1
                posix.putenv(_NAMES, "1")  # for torch_xla alone, not for what reads os.environ

    def after_call(self) -> None:
        """It returned."""
        if not self._asking:
            return
        with self._lock:
            self._asking = max(0, self._asking - 1)
            self._has_names = self._has_names or self._has_compiled()
            if self._has_names or not self._asking:
                self._stop_asking()

    def _has_compiled(self) -> bool:
        return bool(self._xlac._xla_counter_value("UncachedCompile"))

    def _stop_asking(self) -> None:
        self._asking = 0
        if _NAMES in os.environ:  # the program has set it meanwhile
            posix.putenv(_NAMES, os.environ[_NAMES])
        else:
            posix.unsetenv(_NAMES)

    def step(self, quiet: int) -> None:
        """A barrier closed a step, the last of N without a compilation."""
        recording = quiet < _UNTIL_OFF or not self._has_names
        if recording != self.recording:
            with self._lock:
                self.recording = recording
                if self._ours:
                    self._xlac._set_ir_debug(recording)

    def forget(self) -> None:
        """In a forked child, where the lock may be held by a thread that does not exist."""
        self._leave()

    def end(self) -> None:
        """As the program would have it without us."""
        with self._lock:
            self._may_ask = False
            self._leave()

    def _leave(self) -> None:
        if self._asking:
            self._stop_asking()
        if self._ours:
            self._ours = False
            self._xlac._set_ir_debug(False)
