"""Wraps what copies tensors between the host and a device: reads of values, and uploads.

Values are read through a handful of tensor methods. In what ``torch.compile`` compiles they are
hidden, as it traces the methods themselves.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

from ..calls import Calls, Installer
from ..disguise import hide_frames
from .hiding import hide_from_dynamo

#: Tensor method -> the kind of read that is recorded.
_READS = {
    "item": "item",
    "__bool__": "bool",
    "__float__": "float",
    "__int__": "int",
    "__index__": "index",
    "__complex__": "complex",
    "__repr__": "repr",
    "__format__": "format",
    "tolist": "tolist",
    "numpy": "numpy",
    "cpu": "cpu",
    "__array__": "array",
}


class Transfers(Installer):
    """Installs the wrappers, which report to ``calls``."""

    def __init__(
        self,
        torch: Any,
        calls: Calls,
        device: str,
        is_there: Callable[[Any], bool],
        before_read: Callable[[], None] | None = None,
        after_read: Callable[[], None] | None = None,
    ) -> None:
        """
        Args:
            device: the type of the device, as in ``tensor.to(…)``.
            is_there: whether a tensor is on it.
            before_read: called at the start of each timed read.
            after_read: called within it, when the value has been read.
        """
        super().__init__(calls)
        self._torch = torch
        self._kind = device
        self._is_there = is_there
        self._before_read, self._after_read = before_read, after_read
        self._plain = (torch.Tensor, torch.nn.Parameter)

    def install(self) -> None:
        """Install all wrappers."""
        tensor = self._torch.Tensor
        for name, kind in _READS.items():
            if hasattr(tensor, name):
                self._hooks.replace(tensor, name, functools.partial(self._read, kind=kind))
        moving = [name for name in ("to", self._kind) if hasattr(tensor, name)]
        for name in moving:
            self._hooks.replace(tensor, name, functools.partial(self._move, name=name))
        own = [
            getattr(tensor, name)
            for name in (*_READS, *moving)
            if hasattr(self._torch._C.TensorBase, name)
        ]
        hide_from_dynamo(own, self._calls)

    def _timed(self, original: Any) -> Any:
        before, after = self._before_read, self._after_read
        if before is None or after is None:
            return original

        def read(*args: Any, **kwargs: Any) -> Any:
            self._calls.note(before)
            result = original(*args, **kwargs)
            self._calls.note(after)
            return result

        return read

    def _read(self, original: Any, kind: str) -> Any:
        recorder, plain, calls = self._recorder, self._plain, self._calls
        is_there, timed = self._is_there, self._timed(original)

        def method(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if (
                    not is_there(tensor)
                    or recorder.off
                    or type(tensor) not in plain
                    or calls.is_inside()
                ):
                    return original(tensor, *args, **kwargs)
                return calls.read(kind, timed, tensor, *args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise

        return method

    def wait(self, original: Any) -> Any:
        """Wrap a call that waits until the device has computed everything."""
        return self._calls.reading("wait")(self._timed(original))

    def _move(self, original: Any, name: str) -> Any:
        recorder, plain, calls = self._recorder, self._plain, self._calls
        is_there, timed = self._is_there, self._timed(original)
        target = self._target if name == "to" else lambda *_: self._kind

        def to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if recorder.off:
                    return original(tensor, *args, **kwargs)
                there = is_there(tensor)
                moves = calls.note(target, args, kwargs) == ("cpu" if there else self._kind)
                if not moves or type(tensor) not in plain or calls.is_inside():
                    return original(tensor, *args, **kwargs)
                if there:
                    return calls.read("to", timed, tensor, *args, **kwargs)
                return calls.upload([tensor], original, tensor, *args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise

        return to

    @staticmethod
    def _target(args: Any, kwargs: Any) -> str:
        """The type of the device that ``tensor.to(…)`` goes to; empty if it names none."""
        target = kwargs.get("device", args[0] if args else None)
        target = getattr(target, "device", target)  # a tensor stands for its device
        kind: str = getattr(target, "type", None) or (
            target.split(":")[0] if type(target) is str else ""
        )
        return kind
