"""``np.asarray(x)`` on the CPU: NumPy reads the array's memory by the buffer protocol, which no
method in Python shows. From Python 3.12 on there is ``__buffer__``; before, the slot of the type.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any, Callable

_TP_AS_BUFFER = 20  # words into a PyTypeObject of CPython 3.11, whose first slot is bf_getbuffer
_SLOT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
#: Slots that were in use live on: NumPy may ask for a buffer while the interpreter ends.
_KEPT: list[Any] = []


#: What ended a read by the slot, by thread: NumPy then asks for __array__, which has to raise it.
stopped: dict[int, BaseException] = {}


def watch(kind: type, reads: Callable[[Any, Callable[[], Any]], Any]) -> Callable[[], None]:
    """Have ``reads(array, read)`` called whenever memory of an array is asked for.

    Args:
        kind: the class of the arrays.
        reads: calls ``read``, whatever happens, and returns what that returns.

    Returns:
        What undoes it.
    """
    if sys.version_info >= (3, 12):
        return _watch_method(kind, reads)
    return _watch_slot(kind, reads)


def _watch_method(kind: Any, reads: Callable[[Any, Callable[[], Any]], Any]) -> Callable[[], None]:
    original = kind.__buffer__

    def buffer(array: Any, flags: int) -> Any:
        return reads(array, lambda: original(array, flags))

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
        except Exception:  # NumPy then asks for __array__
            return -1
        except BaseException as stop:  # of a signal's handler; it cannot pass through C
            stopped[threading.get_ident()] = stop
            return -1

    ours = _SLOT(get_buffer)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(ours))
    _KEPT.append(ours)
    slot.value = ctypes.cast(ours, ctypes.c_void_p).value

    def undo() -> None:
        slot.value = address

    return undo
