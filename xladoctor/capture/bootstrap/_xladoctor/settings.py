"""Environment variables: what the user set, and what the capture needs set.

The two must never be confused: the report names debugging settings that the *user* left on.
``XLADOCTOR_SET`` lists, for child processes, which variables came from the capture.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, Callable

#: Where assignments to ``os.environ`` pass through on their way to ``putenv``.
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PASSED_THROUGH = (__file__, os.__file__, "<frozen os>", "<frozen _collections_abc>")

#: Capture settings: none that enters the hash of a graph. IR debugging is switched at run time.
_WANTED = {
    "PT_XLA_DEBUG_LEVEL": "1",  # a block for each compilation; 2 adds 45 µs to each execution
    "PT_XLA_DEBUG_MAX_FRAME": "32",  # the default of 8 often ends inside a library
}

#: Only these are ever written to disk: what changes how XLA behaves, never a secret.
RECORDED = (
    "PJRT_DEVICE", "CPU_NUM_DEVICES", "TPU_NUM_DEVICES", "NEURON_NUM_DEVICES",
    "XLA_FLAGS", "LIBTPU_INIT_ARGS", "XLA_USE_SPMD", "XLA_NO_SPECIAL_SCALARS",
    "XLA_COMPILATION_CACHE_SIZE", "XLA_PERSISTENT_CACHE_PATH", "XLA_USE_BF16",
    "XLA_IR_DEBUG", "XLA_HLO_DEBUG", "PT_XLA_DEBUG", "PT_XLA_DEBUG_LEVEL", "PT_XLA_DEBUG_FILE",
    "PT_XLA_DEBUG_MAX_FRAME", "XLA_SAVE_TENSORS_FILE", "XLA_SAVE_TENSORS_FMT", "XLA_SYNC_WAIT",
    "XLA_USE_EAGER_DEBUG_MODE", "GET_TENSORS_OPBYOP", "SYNC_TENSORS_OPBYOP", "XLA_METRICS_FILE",
    "XLA_FNTRACKER_FILE", "XLA_FNTRACKER_LEVEL", "XLA_DUMP_HLO_GRAPH", "XLA_EMIT_STEPLOG",
)  # fmt: skip


def user_settings() -> dict[str, str]:
    """The recorded variables as they stand, less those that the capture set."""
    ours = os.environ.get("XLADOCTOR_SET", "").split(",")
    return {name: os.environ[name] for name in RECORDED if name in os.environ and name not in ours}


def apply_capture_settings(analysis_log: str) -> str | None:
    """Set what the capture needs; return why the analysis log is not ours, if it is not.

    A user who debugs with ``PT_XLA_DEBUG*`` keeps that output where it was asked for.
    """
    user = user_settings()
    wanted = {name: value for name, value in _WANTED.items() if name not in user}
    asked = sorted(name for name in user if name.startswith("PT_XLA_DEBUG"))
    if asked:
        wanted = {name: value for name, value in wanted.items() if "PT_XLA" not in name}
    else:
        wanted["PT_XLA_DEBUG_FILE"] = analysis_log
    os.environ.update(wanted)
    os.environ["XLADOCTOR_SET"] = ",".join(sorted(wanted))
    return f"{', '.join(asked)} set by the program or its environment" if asked else None


class SettingsWatch:
    """Remembers the line of the program that sets a recorded variable through ``os.environ``."""

    def __init__(self) -> None:
        self._put: Callable[[Any, Any], None] = os.putenv
        self._installed: Any = None
        self.set_at: dict[str, tuple[str, int, str]] = {}

    def install(self) -> None:
        """From now on; ``os.environ`` looks ``putenv`` up in its module at each assignment."""
        self._installed = os.putenv = self._putenv

    def uninstall(self) -> None:
        """As it was, unless the program has replaced it since."""
        if os.putenv is self._installed:
            os.putenv = self._put

    def _putenv(self, name: Any, value: Any) -> None:
        self._put(name, value)
        text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
        if text not in RECORDED:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename in _PASSED_THROUGH:
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(_HERE):
            code = frame.f_code
            self.set_at[text] = (os.path.abspath(code.co_filename), frame.f_lineno, code.co_name)
