"""Sessions of PyTorch's profiler, Kineto, and the profiles that the program records with it.

A session is opened below ``torch.profiler``, because compiled code depends on the flag that
``torch.profiler`` sets. It records all threads, so that any thread may close it. A process has only
one: an event that began in one session and ended in the next, such as a label of the program, would
write to freed memory.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import sys
import threading
from functools import partial
from importlib import import_module
from typing import Any, Callable, Iterator

from .. import framework
from ..disguise import hide_frames

#: Settings while Kineto starts and stops: do not print that the machine has no GPU; do not tear
#: down CUPTI at the end, as torch.profiler does not either, since CUDA graphs may crash otherwise.
_SETTINGS = {
    "KINETO_LOG_LEVEL": "9",
    "TEARDOWN_CUPTI": "0",
    "DISABLE_CUPTI_LAZY_REINIT": "1",
}
_DEVICES = ("cuda", "xpu")
_begun: list[bool] = []  # whether this process, or the one it was forked from, had its session


class Profiles(framework.Profiles):
    """See :class:`..framework.Profiles`."""

    suffix = ".pt.trace.json.gz"
    light = False  # ending and writing stop Python for 8 µs per event

    def __init__(self) -> None:
        super().__init__()
        self._number: int | None = None
        self._begin: Callable[[], int]
        self._end: Callable[[int, str | None], None]
        self.hooks.attempt("timelines", self._configure)

    def _configure(self) -> None:
        self.open = partial(_Session.open, _config())

    def hand_over(self, begin: Callable[[], int], end: Callable[[int, str | None], None]) -> None:
        """See :meth:`..framework.Profiles.hand_over`; the file is known at the end, or never."""
        from torch.autograd import profiler

        self._begin, self._end = begin, end
        for name in ("_prepare_profiler", "_enable_profiler"):
            self.hooks.replace(profiler, name, self._beginning)
        self.hooks.replace(profiler, "_disable_profiler", self._ending)
        if profiler._is_profiler_enabled:
            self._number = begin()

    def _beginning(self, original: Any) -> Any:
        def begin_profiler(*args: Any, **kwargs: Any) -> Any:
            if self._number is None:
                self._number = self._begin()
            try:
                return original(*args, **kwargs)
            except BaseException as error:
                self._over()
                hide_frames(error)
                raise

        return begin_profiler

    def _ending(self, original: Any) -> Any:
        def disable_profiler(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            finally:
                self._over()

        return disable_profiler

    def _over(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            self._end(number, None)


class _Session:
    """See :class:`..frontend.ProfilerSession`."""

    def __init__(self, devices: list[Any]) -> None:
        self._devices = devices

    @classmethod
    def open(cls, config: Any) -> _Session:
        from torch._C._autograd import _enable_profiler, _prepare_profiler
        from torch._C._profiler import ProfilerActivity

        if _begun:
            raise RuntimeError("one session is all that can be had")
        _begun.append(True)
        devices = [name for name in _DEVICES if _is_in_use(name)]
        recorded = {getattr(ProfilerActivity, name.upper()) for name in ("cpu", *devices)}
        with _set():
            _prepare_profiler(config, recorded)
            _enable_profiler(config, recorded)
        return cls([sys.modules[f"torch.{name}"] for name in devices])

    def stop(self) -> Callable[[str], None]:
        from torch._C._autograd import _disable_profiler

        for device in self._devices:
            with contextlib.suppress(Exception):  # the program will get the same error
                device.synchronize()
        with _set():
            return partial(_write, _disable_profiler())


@contextlib.contextmanager
def _set() -> Iterator[None]:
    """Apply those of ``_SETTINGS`` that the program has not set itself."""
    added = _SETTINGS.keys() - os.environ.keys()
    os.environ.update({name: _SETTINGS[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _config() -> Any:
    """A configuration for all threads, without shapes, memory, stacks, FLOPs or modules."""
    kineto: Any = import_module("torch._C._profiler")
    every = kineto._ExperimentalConfig(profile_all_threads=True)
    return kineto.ProfilerConfig(kineto.ProfilerState.KINETO, *[False] * 5, every, "xladoctor")


def _is_in_use(device: str) -> bool:
    module = sys.modules.get(f"torch.{device}")
    return bool(module and module.is_initialized())


def _write(recorded: Any, path: str) -> None:
    """Write what was recorded to a file, whole or not at all."""
    plain, packed = (f"{path}.{threading.get_ident()}{end}" for end in (".json.new", ".new"))
    try:
        recorded.save(plain)
        with open(plain, "rb") as file, gzip.open(packed, "wb", compresslevel=1) as to:
            shutil.copyfileobj(file, to, 1 << 20)
        os.replace(packed, path)
    finally:
        for rest in (plain, packed):
            with contextlib.suppress(OSError):
                os.remove(rest)
