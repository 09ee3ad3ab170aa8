"""Wraps the calls of torch, for programs that use TorchTPU's device.

To what the capture of PyTorch wraps come the reads of values, which wait for the device, uploads,
and the launches of operators outside of compiled functions. A read is not blamed for compilations
that end in it: the host went on while they ran.
"""

from __future__ import annotations

import functools
from types import FrameType
from typing import Any

from .. import clock
from ..calls import Calls
from ..pytorch.transfers import Transfers
from ..step import ThreadState
from ..torch import adapter
from . import collectives
from .counters import Counters
from .launches import Launches
from .modes import Modes

_TRACING = "torch_tpu._internal.tracing"
_SWITCHES = "torch_tpu._internal.compile.tpu_torch_compile"
_DEVICE = "torch_tpu._internal.device._device_module"
_MODES = "torch_tpu._internal.execution_mode.execution_mode_impl"
_SPLITTER = "torch_tpu._internal.compile.split_compiler"


class Adapter(adapter.Adapter):
    """Installs the hooks, which report to ``calls``."""

    def __init__(self, torch: Any, counters: Counters, calls: Calls) -> None:
        super().__init__(torch, counters, calls)
        self._cache = counters
        latest = self._latest.values()
        self.launches = Launches(calls, counters, lambda: max(latest, default=None))
        self.modes = Modes(calls, counters)
        calls.looks = self.launches.read
        self._requests = 0
        self._read_began = 0
        self._transfers = Transfers(
            torch, calls, "tpu", _is_there, self._before_read, self._after_read
        )

    def install(self) -> None:
        super().install()
        torch, calls, hooks, launches = self._torch, self._calls, self._hooks, self.launches
        backward = calls.before(self._backward, handed=False)
        for name, install in (
            ("reads", self._transfers.install),
            (
                "waits",
                lambda: hooks.replace(torch.accelerator, "synchronize", self._transfers.wait),
            ),
            ("backward passes", lambda: hooks.replace(torch.autograd, "backward", backward)),
        ):
            hooks.attempt(name, install)
        for name, module, hook in (
            ("lines of operators", _SWITCHES, launches.switch_lines),
            ("launches of operators", _TRACING, launches.install),
            ("counts of compilations", _DEVICE, self._install_counters),
            ("eager modes", _MODES, self.modes.install),
            ("collectives", _SPLITTER, functools.partial(collectives.install, calls)),
        ):
            hooks.await_module(name, module, hook)

    def _install_counters(self, module: Any) -> None:
        self._cache.attach(module._device_ops_backend)
        self.launches.forget_the_past()

    # -- use of the device -------------------------------------------------------------------

    def in_use(self) -> bool:
        """Whether the program has used the device; torch.compile initializes it by itself."""
        return self._events.awake or self._cache.requests() > 0

    def called(self) -> None:
        self._local.row = None
        if not self._events.awake and self.in_use():
            self._events.used()

    def _stepped(self, optimizer: int) -> None:
        if self._events.awake:
            super()._stepped(optimizer)

    def _backward(self) -> None:
        if self._events.awake:
            self.launches.backward(self._calls.sites.here(4))

    # -- steps and compilations --------------------------------------------------------------

    def _end_step(self, state: ThreadState, site: int | None, launched: bool = True) -> None:
        if not launched:  # an optimizer has
            self.launches.cycles.site = site
        self._calls.note(self.launches.look)
        self._calls.note(self.launches.step_ended)
        requests = self._cache.requests()
        state.step.executions += max(0, requests - self._requests)
        self._requests = requests
        super()._end_step(state, site, launched)

    def _before_read(self) -> None:
        self._read_began = clock.perf_counter_ns()

    def _after_read(self) -> None:
        self.launches.look(max(1, clock.perf_counter_ns() - self._read_began))

    def returned(self, wrapper: FrameType) -> None:
        super().returned(wrapper)
        self._calls.note(self.launches.look)


def _is_there(tensor: Any) -> bool:
    return bool(tensor.device.type == "tpu")
