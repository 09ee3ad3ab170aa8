"""Wraps the reads of arrays' values, and the program's callbacks, in which reads do not wait.

Values are read through a property of arrays or, on the CPU, from their memory.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable

from .. import clock
from ..calls import Calls, Installer
from ..disguise import hide_frames
from . import buffers

if TYPE_CHECKING:
    from ..event_counters import EventCounters

#: Function that reads an array's value -> the kind of read that is recorded.
_READS = {
    "__float__": "float",
    "__bool__": "bool",
    "__int__": "int",
    "__index__": "index",
    "__complex__": "complex",
    "__repr__": "repr",
    "__str__": "repr",
    "__format__": "format",
    "_item": "item",
    "item": "item",
    "tolist": "tolist",
    "__array__": "array",
    "_device_get": "device_get",
}

_clock = clock.perf_counter_ns


class Reads(Installer):
    """Installs the wrappers, which report to ``calls``."""

    def __init__(self, calls: Calls, counters: EventCounters) -> None:
        super().__init__(calls)
        self._counters = counters

    def install_values(self) -> None:
        """Wrap the property with an array's value, and the functions that wait for it."""
        import jax
        from jax._src import api, dispatch
        from jax._src.array import ArrayImpl

        self._hooks.replace(dispatch, "_check_special", self._check)
        kind: Any = ArrayImpl
        value = kind._value
        recorder, calls = self._recorder, self._calls

        def read_value(array: Any) -> Any:
            try:
                if buffers.stopped:
                    buffers.raise_stopped()
                if recorder.off or calls.is_inside():
                    return value.fget(array)
                caller = sys._getframe(1)
                how = _READS.get(caller.f_code.co_name, "value")
                if how == "array" and calls.note(_in_item, caller):
                    how = "item"
                return calls.read(how, value.fget, array)
            except BaseException as error:
                hide_frames(error)
                raise

        hooks, wait = self._hooks, calls.reading("wait", wakes=False)
        hooks.put(kind, "_value", property(read_value, doc=value.__doc__))
        hooks.replace(kind, "block_until_ready", wait)
        hooks.replace(api, "block_until_ready", wait, jax)
        hooks.replace(api, "device_get", calls.reading("device_get", wakes=False), jax)

    def _check(self, original: Any) -> Any:
        """Wrap the NaN check: the setting causes its reads, not the program's line."""

        def check(*args: Any, **kwargs: Any) -> Any:
            state = self._calls.note(self._recorder.thread)
            if state is None:
                return original(*args, **kwargs)
            outer, state.inside = state.inside, state.inside or "check"
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise
            finally:
                state.inside = outer

        return check

    def install_memory(self) -> None:
        """Watch reads of arrays' memory on the CPU."""
        from jax._src.array import ArrayImpl

        recorder, calls = self._recorder, self._calls

        def reads(array: Any, read: Callable[[], Any]) -> Any:
            if recorder.off or calls.is_inside() or not calls.note(_on_cpu, array):
                return read()  # refused for other devices; NumPy then calls __array__
            how = "item" if calls.note(_in_item, sys._getframe(1)) else "array"
            return calls.read(how, lambda _: read(), array)

        self._hooks.on_undo(buffers.watch(ArrayImpl, reads))

    def install_callbacks(self) -> None:
        """Wrap the calls of the program's Python by graphs."""
        from jax._src import callback, debugging

        for module, name in (
            (callback, "pure_callback_impl"),
            (callback, "io_callback_impl"),
            (debugging, "debug_callback_impl"),
            (debugging, "debug_print_impl"),
        ):
            if hasattr(module, name):
                self._hooks.replace(module, name, self._call_back)
        self._hooks.replace(debugging.debug_callback_p, "impl", self._call_back)

    def _call_back(self, original: Any) -> Any:
        """Wrap host callbacks: their arguments have been computed, so reads in them do not wait.

        Launches within them are recorded as usual.
        """

        def call_back(*args: Any, **kwargs: Any) -> Any:
            state = self._calls.outermost()
            if state is None:
                return original(*args, **kwargs)
            state.inside = "callback"
            begin = _clock()
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise
            finally:
                state.inside = ""
                self._counters.call_back(_clock() - begin)

        return call_back


def _on_cpu(array: Any) -> bool:
    return all(device.platform == "cpu" for device in array.sharding.device_set)


def _in_item(frame: FrameType | None) -> bool:
    """Whether ``x.item()``, which calls other functions, is what reads the array's memory."""
    for _ in range(4):
        if frame is None:
            return False
        if frame.f_code.co_name == "_item":
            return True
        frame = frame.f_back
    return False
