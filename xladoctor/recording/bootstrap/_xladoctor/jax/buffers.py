"""Hooks ``np.asarray(x)`` on the CPU, where NumPy reads the array's memory by the buffer protocol.
From Python 3.12 on, ``__buffer__`` is replaced; before, the type's slot.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any, Callable

from ..disguise import hide_frames, interrupts

_TP_AS_BUFFER = 20  # offset in words in CPython 3.11's PyTypeObject; bf_getbuffer comes first
_SLOT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
#: Keeps slots alive: NumPy may request a buffer while the interpreter ends.
_KEPT: list[Any] = []


#: By thread, the exception that ended a read by the slot; NumPy then calls __array__, which has to
#: raise it.
stopped: dict[int, BaseException] = {}


def raise_stopped() -> None:
    """Raise the exception that ended this thread's latest read by the slot, if one did."""
    if stop := stopped.pop(threading.get_ident(), None):
        raise stop


def watch(kind: type, reads: Callable[[Any, Callable[[], Any]], Any]) -> Callable[[], None]:
    """Have ``reads(array, read)`` called whenever the memory of an array is requested.

    Args:
        kind: the class of the arrays.
        reads: must call ``read`` in any case, and return its result.

    Returns:
        A function that undoes this.
    """
    if sys.version_info >= (3, 12):
        return _watch_method(kind, reads)
    return _watch_slot(kind, reads)


def _watch_method(kind: Any, reads: Callable[[Any, Callable[[], Any]], Any]) -> Callable[[], None]:
    original = kind.__buffer__

    def buffer(array: Any, flags: int) -> Any:
        try:
            return reads(array, lambda: original(array, flags))
        except BaseException as error:
            hide_frames(error)
            raise

    kind.__buffer__ = buffer

    def undo() -> None:
        if kind.__dict__.get("__buffer__") is buffer:
            kind.__buffer__ = original

    return undo


def _watch_slot(kind: type, reads: Callable[[Any, Callable[[], Any]], Any]) -> Callable[[], None]:
    word = ctypes.sizeof(ctypes.c_void_p)
    table = ctypes.c_void_p.from_address(id(kind) + _TP_AS_BUFFER * word).value
    if not table:
        return lambda: None
    slot = ctypes.c_void_p.from_address(table)
    address = slot.value
    if not address:
        return lambda: None
    original = _SLOT(address)

    def get_buffer(array: Any, view: int, flags: int) -> int:
        try:
            return int(reads(array, lambda: original(array, view, flags)))
        except BaseException as error:  # it cannot pass through C
            if not isinstance(error, Exception) or interrupts(error):
                stopped[threading.get_ident()] = error
            return -1  # NumPy then calls __array__

    ours = _SLOT(get_buffer)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(ours))
    _KEPT.append(ours)
    slot.value = ctypes.cast(ours, ctypes.c_void_p).value

    def undo() -> None:
        slot.value = address

    return undo
