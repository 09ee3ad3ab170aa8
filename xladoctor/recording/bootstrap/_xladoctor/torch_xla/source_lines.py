"""Has torch_xla record the Python lines of operations (IR debugging) while graphs are new.

Recording costs a tenth of tracing, so it is off once the loop no longer compiles. A graph that is
compiled later has no lines of its own; but its instructions have the names of their operations, by
which the reader finds the lines in the graph compiled before.

Instructions have names if ``XLA_HLO_DEBUG`` is set when the process lowers its first graph:
torch_xla reads it then, once. It must not be set when the device's client is created, as it would
enter the hash of all graphs. So it is set only within calls that may lower that first graph. If
other calls lower it, recording stays on.
"""

from __future__ import annotations

import os
import posix
import threading
from typing import Any

from .. import framework

_UNTIL_OFF = 16  # barriers in a row without a compilation
_NAMES = "XLA_HLO_DEBUG"


class SourceLines(framework.SourceLines):
    """Switches IR debugging at run time, unless the user set it."""

    def __init__(self, xlac: Any) -> None:
        self._xlac = xlac
        self._lock = threading.Lock()
        self._ours = False
        self.recording = True
        users = os.environ.get(_NAMES)
        self._has_names = users is not None and users.lower() not in ("", "0", "false")
        self._may_ask = users is None
        self._asking = 0  # threads in a call that may lower the first graph

    def begin(self) -> None:
        with self._lock:
            self._ours = not self._xlac._get_ir_debug()
            if self._ours:
                self._xlac._set_ir_debug(True)

    def before_call(self) -> None:
        if self._has_names or not self._may_ask:
            return
        with self._lock:
            if self._xlac._xla_runtime_is_initialized() and not self._has_compiled():
                self._asking += 1
                posix.putenv(_NAMES, "1")  # seen by torch_xla, but not through os.environ

    def after_call(self) -> None:
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
        if _NAMES in os.environ:  # the program has set it since
            posix.putenv(_NAMES, os.environ[_NAMES])
        else:
            posix.unsetenv(_NAMES)

    def step(self, quiet: int) -> None:
        recording = quiet < _UNTIL_OFF or not self._has_names
        if recording != self.recording:
            with self._lock:
                self.recording = recording
                if self._ours:
                    self._xlac._set_ir_debug(recording)

    def forget(self) -> None:
        self._leave()

    def end(self) -> None:
        with self._lock:
            self._may_ask = False
            self._leave()

    def _leave(self) -> None:
        if self._asking:
            self._stop_asking()
        if self._ours:
            self._ours = False
            self._xlac._set_ir_debug(False)
