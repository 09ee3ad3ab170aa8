"""Estimates how large a recording's file will be, from the memory that the recording takes.

No profiler says how much it has recorded. On the CPU most of a timeline is operations, each an
object that malloc hands out. Their sum excludes large tensors, which malloc maps apart (unless an
earlier one left a hole of that size), and counts what is handed out again without growing the
process. Compilers leave their results there too, so intervals in which a compilation ended are
taken to grow, per step, like the others.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

#: Bytes of memory for each byte of the file, where most of it is operations of a CPU. Measured: 4.0
#: to 5.7, for files of 6 to 72 MB. Of smaller files, what the program allocates and frees meanwhile
#: hides the size.
BYTES_OF_MEMORY = 4
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
#: Less than any process with a framework: its memory comes from another allocator.
_ANOTHER_ALLOCATOR = 1 << 20


class RecordedSize:
    """The size of one recording, from when this is made."""

    def __init__(self, compiled: int) -> None:
        """``compiled``: compilations of the process that have ended so far."""
        self._last = allocated()
        self._compiled = compiled
        self._steps = 0
        self._quiet = self._noisy = 0
        self._quiet_steps = self._noisy_steps = 0

    def measure(self, compiled: int, steps: int) -> None:
        """Read the memory. ``steps``: those of the recording so far."""
        now = allocated()
        grown, passed = now - self._last, steps - self._steps
        if compiled == self._compiled:
            self._quiet += grown
            self._quiet_steps += passed
        else:
            self._noisy += grown
            self._noisy_steps += passed
        self._last, self._compiled, self._steps = now, compiled, steps

    @property
    def bytes(self) -> float:
        """Estimated bytes of the file; at most those that all of the growth could be."""
        grown: float = self._quiet + self._noisy
        if self._quiet_steps:
            a_step = self._quiet / self._quiet_steps
            grown = min(grown, self._quiet + a_step * self._noisy_steps)
        return max(0, grown) / BYTES_OF_MEMORY


class _Mallinfo2(ctypes.Structure):
    """``struct mallinfo2`` of mallinfo(3)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _library_function() -> Any:
    """``mallinfo2``; None where the C library is not GNU's, or is older than 2.33."""
    try:
        function = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    function.restype = _Mallinfo2
    return function


_mallinfo2 = _library_function()


def allocated() -> int:
    """Bytes that malloc has handed out but has not mapped apart; if unknown, the resident bytes."""
    if _mallinfo2 is not None:
        handed_out: int = _mallinfo2().uordblks
        if handed_out >= _ANOTHER_ALLOCATOR:
            return handed_out
    return _resident()


def _resident() -> int:
    """Resident bytes of the process; 0 if the system does not report them."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
