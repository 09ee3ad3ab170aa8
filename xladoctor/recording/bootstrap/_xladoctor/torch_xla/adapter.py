"""Wraps the calls of torch and torch_xla.

Barriers (``sync``, ``mark_step``, ``step``, ``optimizer_step``, loaders, ``StepTrace``) all end in
one function of the extension module. Values are read through a handful of tensor methods. Pickling
an XLA tensor calls its ``cpu()``, and ``xm.save`` synchronizes the tensors that it finds: these
show that a save is one of the device's state.
"""

from __future__ import annotations

import contextlib
import operator
import sys
from typing import TYPE_CHECKING, Any

from ..calls import Calls, Installer
from ..disguise import hide_frames
from ..facts import IdleOptimizer
from ..hooks import Hooks
from ..pytorch.dynamo import Dynamo
from ..pytorch.listener import Listener
from ..pytorch.loaders import Loaders
from ..pytorch.transfers import Transfers
from ..step import ThreadState
from .graphs import Lowering

if TYPE_CHECKING:
    from ..frontend import Setting

_is_xla = operator.attrgetter("is_xla")
_DYNAMO = "torch_xla._dynamo"
_SPMD = "torch_xla.distributed.spmd.xla_sharding"
_EAGER = "torch_xla.experimental.eager_mode"
_SURELY = 3  # updates of an optimizer, after which it must have gradients if it ever has


class Adapter(Installer):
    """Installs all wrappers."""

    def __init__(self, xlac: Any, calls: Calls) -> None:
        import torch

        super().__init__(calls)
        self._torch = torch
        self._xlac = xlac
        self._updates: dict[int, int] = {}  # updates by optimizer, until it is examined
        self._dynamo = Dynamo(calls, Listener(calls), Hooks())  # what it lacks is not missed
        #: See :meth:`..framework.Framework.settings`.
        self.settings: dict[str, Setting] = {}
        self._lowering = Lowering(xlac, calls)
        self._transfers = Transfers(torch, calls, "xla", _is_xla)
        #: See :attr:`..framework.Framework.meshes`.
        self.meshes: list[dict[str, int]] = []

    def install(self) -> None:
        """Install all wrappers."""
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )
        from torch_xla.core import xla_model
        from torch_xla.distributed import parallel_loader

        hooks, xlac, calls, recorder = self._hooks, self._xlac, self._calls, self._recorder
        for name, make in (
            ("_xla_get_default_device", calls.after(calls.events.used, handed=False)),
            ("_xla_step_marker", calls.barrier),
            ("_xla_wait_device_ops", calls.reading("wait", unless=_is_of_dynamo)),
            ("_clear_xla_counters", calls.before(recorder.clearing, handed=False)),
            ("_xla_tensors_from_aten", self._send),
            ("_xla_sync_multi", calls.before(recorder.touched, handed=False)),
            ("_xla_warm_up_cache", calls.before(self._lowering.before_warm_up)),
        ):
            hooks.replace(xlac, name, make)
        if hasattr(xlac, "_set_use_eager_mode"):
            hooks.replace(xlac, "_set_use_eager_mode", calls.after(self._set_eager))
        hooks.replace(xla_model, "_run_step_closures", self._closures)
        hooks.replace(parallel_loader.ParallelLoader, "next_item", calls.input)
        Loaders(self._torch, calls).install()
        self._transfers.install()
        self._dynamo.install()
        hooks.on_undo(self._dynamo.hooks.undo)
        self._lowering.install()
        hooks.await_module("meshes", _SPMD, self._await_meshes)
        self._install_saves(xla_model)
        for register, hook in (
            (register_optimizer_step_pre_hook, self._optimizer_begins),
            (register_optimizer_step_post_hook, self._optimizer_stepped),
        ):
            hooks.on_undo(register(hook).remove)

    def _install_saves(self, xla_model: Any) -> None:
        save = self._calls.save
        self._hooks.replace(self._torch, "save", save, self._torch.serialization)
        self._hooks.replace(xla_model, "save", save)
        with contextlib.suppress(ImportError):
            from torch_xla.utils import serialization

            self._hooks.replace(serialization, "save", save)

    def _set_eager(self, enable: Any) -> None:
        """Note the line that last switched eager mode on, for the rest or for a block."""
        place = self._calls.sites.users_line() if enable else None
        if place is not None:
            self.settings[_EAGER] = "True", place

    def _await_meshes(self, module: Any) -> None:
        """Note the meshes that the program makes."""

        def made(mesh: Any, *_: Any, **__: Any) -> None:
            names = [str(name) for name in mesh.axis_names or ()]
            if len(names) == len(mesh.mesh_shape):
                axes = dict(zip(names, map(int, mesh.mesh_shape)))
                self.meshes += [axes] if axes not in self.meshes else []

        self._hooks.replace(module.Mesh, "__init__", self._calls.after(made))

    def _send(self, original: Any) -> Any:
        def tensors_from_aten(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                if self._calls.outermost() is None:
                    return original(tensors, *args, **kwargs)
                return self._calls.upload(tensors, original, tensors, *args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise

        return tensors_from_aten

    def _closures(self, original: Any) -> Any:
        def run_step_closures(*args: Any, **kwargs: Any) -> Any:
            state = self._calls.note(self._recorder.thread)
            try:
                if state is None:
                    return original(*args, **kwargs)
                state.closure = True
                return original(*args, **kwargs)
            except BaseException as error:
                hide_frames(error)
                raise
            finally:
                if state is not None:
                    state.closure = False

        return run_step_closures

    def _optimizer_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is not None:  # the step may call the closure for minutes before it ends
            self._calls.note(self._note_closure, optimizer, closure)

    def _note_closure(self, optimizer: Any, closure: Any) -> None:
        site = self._calls.definition(getattr(closure, "__code__", None))
        self._recorder.optimizer_of(id(optimizer), site)

    def _optimizer_stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        state = self._calls.note(self._recorder.thread)
        if state is not None:
            self._calls.note(self._recorder.optimizer, state, id(optimizer))
            self._calls.note(self._note_updates, state, optimizer)

    def _note_updates(self, state: ThreadState, optimizer: Any) -> None:
        updates = self._updates.get(id(optimizer), 0)
        if updates < _SURELY:
            self._updates[id(optimizer)] = updates + 1
            if updates + 1 == _SURELY and _updates_nothing(optimizer):
                site = self._calls.sites.here(4)
                self._recorder.log_fact(IdleOptimizer(thread=state.id, site=site))


def _updates_nothing(optimizer: Any) -> bool:
    """Whether all parameters of an optimizer are on the host, and none has a gradient."""
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    return bool(parameters) and all(
        one.device.type == "cpu" and one.is_leaf and one.grad is None for one in parameters
    )


def _is_of_dynamo() -> bool:
    """Whether the caller is torch.compile's bridge, which waits by itself when it compiles."""
    caller = sys._getframe(2).f_back  # of xm.wait_device_ops
    return caller is not None and str(caller.f_globals.get("__name__")).startswith(_DYNAMO)
